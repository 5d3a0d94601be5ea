/**
 * A short soak. Clients use records, searches, indexes, graphs and vault keys, while shards, the coordinator and the
 * NATS server are killed, frozen, cut off and stopped. Then every answer is checked against the logs. VOUCH_SEED
 * replays faults and calls.
 */
import { expect } from 'chai';
import { deleteTree } from '../../shared/files/durable.js';
import { describeViolation } from '../soak/checker/violations.js';
import type { Call } from '../soak/history.js';
import type { SoakOptions } from '../soak/options.js';
import { runSoak } from '../soak/run.js';
import { testSeed } from '../support/model/random.js';
import { PATIENCE_MS } from '../support/patience.js';

const OPTIONS: Omit<SoakOptions, 'seed'> = {
  durationMs: 20_000,
  servers: 1,
  shards: 3,
  coordinators: 1,
  collections: 8,
  clients: 12,
  rate: 120,
  followers: 1,
  only: undefined,
  // Test machines are busy: the long soak measures how soon everything is served again.
  settleMs: PATIENCE_MS,
  placement: { heartbeatMs: 500, leaseMs: 2_000, failoverMs: 3_000 },
  folder: undefined,
  keep: false,
};

/** On a slow machine the rarest kinds of calls run only a few times during faults. */
const OFTEN = 10;

const KINDS: readonly Call['op'][] = [
  ...(['insert', 'insertBatch', 'softDelete', 'delete', 'updateMetadata', 'get'] as const),
  ...(['search', 'multiSearch', 'configureIndex', 'indexState'] as const),
  ...(['insertEncrypted', 'getEncrypted', 'shred', 'keyStatus'] as const),
  ...(['addNode', 'addEdge', 'deleteNode', 'getNode', 'edges', 'subgraph'] as const),
  ...(['state', 'timeline', 'mergeMetadata', 'mergeMany'] as const),
  ...(['list', 'searchText', 'searchHybrid', 'moveAlias', 'searchAlias'] as const),
];

describe('a history of calls under mixed faults', function () {
  this.timeout(300_000);

  it('shows no lost, doubled or stale answer, and everything is served again at the end', async () => {
    const progress: string[] = [];
    const result = await runSoak({ ...OPTIONS, seed: testSeed() }, (atMs, text) =>
      progress.push(`${atMs.toFixed(0)} ms: ${text}`),
    );
    const { verdict, access, calls, crashes, unserved, unbuilt, outdated, faults, folder } = result;
    const story = [...progress, ...verdict.violations.map(describeViolation), `the files are in ${folder}`].join('\n');
    expect(Object.fromEntries(verdict.counts), story).to.deep.equal({});
    expect(access.wrong, story).to.deep.equal([]);
    expect(access.entries, story).to.be.above(50);
    expect(crashes, story).to.deep.equal([]);
    expect(unserved, story).to.deep.equal([]);
    expect(unbuilt, story).to.deep.equal([]);
    expect(faults.length, story).to.be.above(0);
    const asked = (op: Call['op']) => calls.filter((call) => call.op === op);
    expect(
      KINDS.filter((kind) => asked(kind).length >= OFTEN && asked(kind).every(({ outcome }) => outcome.kind !== 'ok')),
      `never answered; ${story}`,
    ).to.deep.equal([]);
    expect(outdated.answered, story).to.be.above(50);
    expect(outdated.strongByFollowers, story).to.be.above(10);
    expect(verdict.recall.all.wanted, story).to.be.above(500);
    expect(verdict.checked.reads, story).to.be.above(50);
    expect(verdict.checked.events, story).to.be.above(50);
    await deleteTree(folder);
  });
});
