/** The judge of the service log, with hand-made entries and checkpoints. */
import { expect } from 'chai';
import { encodeFrame } from '../../../../../coordinator/serviceLog/frame.js';
import { BUCKETS } from '../../../../../shared/bucket/buckets.js';
import { SERVICE_LOG_SUBJECT } from '../../../../../shared/transport/subjects.js';
import { Frontier, leafHash } from '../../../../../verifier/tlog/merkle.js';
import { formatNote } from '../../../../../verifier/tlog/note.js';
import { treeHeadText } from '../../../../../verifier/tlog/treeHead.js';
import { Findings } from '../../../../simulate/judges/findings.js';
import type { LogsJudge } from '../../../../simulate/judges/logsJudge.js';
import { ServiceLogJudge } from '../../../../simulate/judges/serviceLogJudge.js';
import { World } from '../../../../simulate/world/world.js';

/** Census entry of one collection. */
const census = (timeMs: number): Uint8Array => {
  const bytes = Buffer.alloc(24);
  bytes.write('VLE1', 'latin1');
  bytes[4] = 3;
  bytes.writeBigUInt64LE(1n, 8);
  bytes.writeBigUInt64LE(BigInt(timeMs), 16);
  return bytes;
};
const ENTRIES = [census(1), census(2), census(3)];

const rootOf = (size: number): Uint8Array => {
  const tree = new Frontier();
  for (const entry of ENTRIES.slice(0, size)) tree.append(leafHash(entry));
  return tree.root();
};

describe('the judge of the service log', () => {
  let findings: Findings;
  let judge: ServiceLogJudge;
  beforeEach(() => {
    findings = new Findings(new World(1));
    judge = new ServiceLogJudge(findings, {} as LogsJudge);
  });

  const append = (index: number): void =>
    judge.stored(SERVICE_LOG_SUBJECT, Buffer.from(encodeFrame({ first: index, entries: [ENTRIES[index]!] })));

  function publish(size: number, root = rootOf(size)): void {
    const text = treeHeadText({ origin: 'o', size, root });
    const note = formatNote({ text, signatures: [{ name: 'o', keyId: '00000000', bytes: new Uint8Array(64) }] });
    judge.stored(`$KV.${BUCKETS.serviceLog}.newest`, Buffer.from(JSON.stringify({ size, note })));
  }

  it('reports nothing if the checkpoints match the log', () => {
    append(0);
    append(1);
    publish(2);
    // A superseded entry.
    append(1);
    append(2);
    publish(3);
    expect(findings.all).to.deep.equal([]);
  });

  it('knows the present log, and the log before a loss', () => {
    append(0);
    append(1);
    const holds = (size: number, root = rootOf(size)): boolean => judge.holds({ size, root });
    expect([holds(1), holds(2), holds(3), holds(2, rootOf(1))]).to.deep.equal([true, true, false, false]);
    judge.forget();
    append(0);
    judge.compare();
    expect([holds(1), holds(2)]).to.deep.equal([true, false]);
  });

  it('reports a checkpoint beyond the log, and one with another root', () => {
    append(0);
    publish(2);
    publish(2, rootOf(1));
    expect(findings.all).to.have.length(2);
  });

  it('reports an append and a checkpoint after the log has lost entries', () => {
    append(0);
    append(1);
    publish(2);
    judge.forget();
    publish(2);
    append(0);
    judge.compare();
    expect(judge.isRolledBack).to.equal(true);
    expect(findings.all).to.deep.equal([]);
    append(1);
    publish(1);
    expect(findings.all).to.deep.equal([
      'a judge found: entry 1 is appended to a service log that was rolled back',
      'a judge found: a checkpoint of 1 entries follows one of 2',
    ]);
  });
});
