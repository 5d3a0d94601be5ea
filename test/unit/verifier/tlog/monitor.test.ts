/** The conclusions of a monitor from the public log alone. */
import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { censusEntry, checkpointEntry, deletionEntry } from '../../../../coordinator/serviceLog/entry.js';
import { bundleOf } from '../../../../coordinator/serviceLog/frame.js';
import { ServiceTree } from '../../../../coordinator/serviceLog/tree.js';
import { signerOf } from '../../../../shared/signing/signer.js';
import {
  ED25519,
  formatNote,
  LogAlarm,
  leafHash,
  type Policy,
  parseTilePath,
  readAgain,
  type SeenLog,
  TILE_WIDTH,
  treeHeadText,
  verifierKey,
  visitLog,
} from '../../../../verifier/index.js';
import { rejection } from '../../../support/expectations.js';

const signer = signerOf(generateKeyPairSync('ed25519').privateKey);
const key = verifierKey('vouch.example/log', ED25519, signer.publicKey);
const POLICY: Policy = { logs: [{ key, url: undefined }], witnesses: [], groups: [], quorum: 'none' };
const START_MS = 1_700_000_000_000;
const hash = (n: number): string => n.toString(16).padStart(64, '0');

interface Said {
  readonly id: number;
  readonly size: number;
  readonly root?: number;
  readonly ms?: number;
  readonly config?: number;
}

const checkpoint = ({ id, size, root = size, ms = size, config = id }: Said): Uint8Array =>
  checkpointEntry({
    text: [
      'vouch checkpoint v1',
      `p/c${id}/${id}/${hash(config)}`,
      size,
      hash(root),
      hash(0),
      hash(0),
      START_MS + ms,
      '',
    ].join('\n'),
    publicKey: new Uint8Array(32),
    signature: new Uint8Array(64),
  });
const deletion = (id: number, ms = 99): Uint8Array => deletionEntry(id, hash(id), START_MS + ms);
const census = (present: number, missing: readonly number[] = [], ms = 0): Uint8Array =>
  censusEntry({ present, missing, timeMs: START_MS + ms });

/** Serves a log of these entries. */
function served(entries: readonly Uint8Array[]): (path: string) => Promise<Uint8Array> {
  const tree = new ServiceTree();
  for (const entry of entries) tree.append(leafHash(entry));
  const text = treeHeadText({ origin: key.name, size: tree.size, root: tree.root(tree.size) });
  const note = formatNote({ text, signatures: [{ name: key.name, keyId: key.id, bytes: signer.sign(text) }] });
  return async (path) => {
    if (path === 'checkpoint') return Buffer.from(note);
    const { index, width } = parseTilePath(path)!;
    return bundleOf(entries.slice(TILE_WIDTH * index, TILE_WIDTH * index + width));
  };
}
const visit = (entries: readonly Uint8Array[], seen?: SeenLog) => visitLog(served(entries), POLICY, seen);

/** Alarm of the second visit, after the log has grown by these entries; undefined without an alarm. */
async function alarmAt(before: readonly Uint8Array[], after: readonly Uint8Array[]): Promise<string | undefined> {
  const { seen } = await visit(before);
  const error = await visit([...before, ...after], seen).then(
    () => undefined,
    (caught: unknown) => caught,
  );
  if (error !== undefined) expect(error).to.be.instanceOf(LogAlarm);
  return (error as LogAlarm | undefined)?.message;
}

describe('a monitor of the service log, without a key', () => {
  const some = [checkpoint({ id: 1, size: 2 }), checkpoint({ id: 2, size: 3 })];

  it('accepts growth, deletions and censuses that agree', async () => {
    const more = [census(2), checkpoint({ id: 1, size: 5 }), deletion(2), census(1, [], 5)];
    expect(await alarmAt(some, more)).to.equal(undefined);
    const { seen, entries } = await visit([...some, ...more]);
    expect(seen.collections[1]).to.include({ size: 5, isDeleted: false });
    expect(seen.collections[2]).to.include({ size: 3, isDeleted: true });
    expect(seen.census).to.deep.equal({ timeMs: START_MS + 5, missing: [] });
    expect(entries.map(({ type }) => type).join()).to.equal('checkpoint,checkpoint,census,checkpoint,deletion,census');
  });

  it('raises an alarm if the entries of a collection contradict each other', async () => {
    const cases: readonly (readonly [Uint8Array, string])[] = [
      [checkpoint({ id: 1, size: 1, ms: 9 }), 'its log had 2 events and has 1'],
      [checkpoint({ id: 1, size: 2, root: 7, ms: 9 }), 'its log of 2 events has another root than before'],
      [checkpoint({ id: 1, size: 3, ms: 1 }), 'time ran backwards'],
      [checkpoint({ id: 1, size: 3, config: 9 }), 'another collection has taken its id'],
    ];
    for (const [entry, why] of cases) expect(await alarmAt(some, [entry])).to.include(`entry 2: collection 1: ${why}`);
    const after = [deletion(1), checkpoint({ id: 1, size: 4, ms: 200 })];
    expect(await alarmAt(some, after)).to.include('entry 3: collection 1: it was deleted, and is there again');
  });

  it('raises an alarm while a collection is missing without its deletion', async () => {
    const gone = [census(2), census(1, [2], 5)];
    expect(await alarmAt(some, gone)).to.include('has lost 1 of its collections (ids 2), and the log does not say');
    const alarm = (await rejection(visit([...some, ...gone]))) as LogAlarm;
    expect(alarm.evidence.join()).to.include('vouch.example/log');
    expect(await alarmAt(some, [...gone, census(2, [], 6)]), 'it is back').to.equal(undefined);
    expect(await alarmAt(some, [...gone, deletion(2), census(1, [], 6)]), 'it was deleted').to.equal(undefined);
  });

  it('raises an alarm if a census differs from the count of the entries', async () => {
    const why = 'entry 2: the service says that it has 1 collection, and the log has 2 that were not deleted';
    expect(await alarmAt(some, [census(1)])).to.equal(why);
    expect(await alarmAt(some, [deletion(1), census(2)])).to.include('it has 2 collections, and the log has 1');
    expect(await alarmAt(some, [census(2, [], 5), census(2, [], 4)])).to.include('time ran backwards');
  });

  it('reads again what it has seen, and raises an alarm if the log serves something else', async () => {
    const many = Array.from({ length: 300 }, (_, i) => checkpoint({ id: i, size: 2 }));
    const { seen } = await visit(many.slice(0, 299));
    expect(await readAgain(served(many.slice(0, 299)), seen)).to.have.length(299);
    const others = many.with(7, checkpoint({ id: 7, size: 3 }));
    const error = await rejection(readAgain(served(others.slice(0, 299)), seen));
    expect(error).to.be.instanceOf(LogAlarm);
  });
});
