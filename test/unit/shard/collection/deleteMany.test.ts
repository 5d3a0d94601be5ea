// Covers: shard/state/planDeletions.ts, shard/state/plannedRequests.ts, shard/state/dedupWindow.ts
// Covers: shard/state/commitBuilder.ts, shard/state/recordsOf.ts
/** Deletions of many records under a request id: repeats, events in the log, and logs that contradict themselves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { EMPTY_LOG } from '../../../../shared/log/chain.js';
import { genesisOf } from '../../../../shared/log/event.js';
import { LOG_START } from '../../../../shared/log/eventLog.js';
import { buildFrame } from '../../../../shared/log/frame.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import type { DeleteManyCall } from '../../../../shared/protocol/writes.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { expectCode } from '../../../support/expectations.js';
import {
  configOf,
  Engine,
  type EngineOptions,
  requestIdOf,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const ID = 7;
const REQUEST = requestIdOf(1);
const OLD = { filter: filterOf({ is: 'old' }) };
const metadata = Buffer.from('{"is": "old"}');

describe('a deletion under a request id', () => {
  let folder: string;
  let logs: LocalLogs;
  let collection: TestCollection;

  async function open(options: EngineOptions = {}): Promise<void> {
    logs = await LocalLogs.open({ folder });
    collection = new Engine(logs, options).host(configOf(ID));
  }
  async function restart(options: EngineOptions = {}): Promise<void> {
    await collection.hosted.close({ keep: true });
    await logs.close();
    await open(options);
  }
  async function frames(): Promise<Uint8Array[]> {
    const log = await logs.open(ID);
    const all: Uint8Array[] = [];
    for await (const { bytes } of log.read(LOG_START)) all.push(bytes.slice());
    await log.close();
    return all;
  }
  const remove = (of: DeleteManyCall['of'], requestId: Uint8Array | null = REQUEST) =>
    collection.write({ op: 'deleteMany', of, requestId }) as Promise<Results['deleteMany']>;
  const sequence = async (): Promise<number> =>
    ((await collection.hosted.run({ op: 'describe' }, soon())) as Results['describe']).sequence;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-deletions-'));
    await open();
    for (const n of [1, 2, 3]) await collection.insert([n, 0], n === 3 ? {} : { metadata });
  });
  afterEach(async () => {
    await collection.hosted.close({ keep: true });
    await logs.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('repeated, also after a restart, deletes no newer record and returns the first answer', async () => {
    expect(await remove(OLD)).to.deep.equal({ deleted: 2, missing: [], sequence: 5 });
    const { id } = await collection.insert([4, 0], { metadata });
    for (let round = 0; round < 2; round++) {
      expect(await remove(OLD)).to.deep.equal({ deleted: 2, missing: [], sequence: 5, deduplicated: true });
      expect(await collection.found()).to.deep.equal([3, id]);
      expect(await sequence()).to.equal(7);
      await restart();
    }
    expect(await remove(OLD, requestIdOf(2)), 'under another request id').to.include({ deleted: 1, sequence: 8 });
    expect(await remove(OLD, null), 'under none').to.include({ deleted: 0, sequence: null });
  });

  it('is one frame that ends with an event that the verifier reads', async () => {
    await remove({ ids: [3, 1] });
    const all = await frames();
    expect(all).to.have.length(4);
    const report = await replayedLog(all);
    expect([report.problems, report.sequence, report.liveRecords]).to.deep.equal([[], 6n, 1]);
    const { stateHash } = (await collection.hosted.run({ op: 'proofState' }, soon())) as Results['proofState'];
    expect(report.stateHash).to.equal(Buffer.from(stateHash).toString('hex'));
    const page = { op: 'timeline', fromMs: 0, toMs: 8e15, after: 3, limit: 10 } as const;
    const { events } = (await collection.hosted.run(page, soon())) as Results['timeline'];
    expect(events.map(({ type, recordId }) => [type, recordId])).to.deep.equal([
      ['delete', 3],
      ['delete', 1],
      ['deleteMany', undefined],
    ]);
    const receipt = collection.hosted.run({ op: 'proofReceipt', sequence: 6 }, soon());
    expect((await expectCode(receipt, 'validation_error')).message).to.include('changed no record');
  });

  it('twice in one frame is carried out once', async () => {
    const [first, second] = await Promise.all([remove({ ids: [1, 9] }), remove({ ids: [1, 2, 9] })]);
    expect(first).to.deep.equal({ deleted: 1, missing: [1], sequence: 4 });
    expect(second).to.deep.equal({ deleted: 1, missing: [], sequence: 4, deduplicated: true });
    expect(await collection.found()).to.deep.equal([2, 3]);
    expect(await frames()).to.have.length(4);
  });

  it('without a match commits nothing, so that its repeat is carried out', async () => {
    expect(await remove({ ids: [8] })).to.deep.equal({ deleted: 0, missing: [0], sequence: null });
    expect(await sequence()).to.equal(3);
    expect(await remove(OLD)).to.include({ deleted: 2 });
  });

  it('uses a place in the window of request ids, like an insert', async () => {
    await restart({ dedupWindow: 1 });
    await remove({ ids: [1] });
    await collection.insert([4, 0], { requestId: requestIdOf(2) });
    expect(await remove({ ids: [2] }), 'once it is forgotten').to.include({ deleted: 1, sequence: 7 });
  });

  it('is refused under the id of an insert and vice versa, without an effect', async () => {
    await collection.insert([4, 0], { requestId: requestIdOf(5) });
    await remove({ ids: [1] });
    const before = await sequence();
    const refused = await expectCode(remove({ ids: [2] }, requestIdOf(5)), 'validation_error');
    expect(refused.message).to.equal('the request id belongs to the write of record 4');
    const sealed = {
      op: 'insertEncrypted',
      payload: Buffer.from('x'),
      keyId: null,
      tag: 0,
      requestId: REQUEST,
    } as const;
    for (const insert of [
      () => collection.insert([5, 0], { requestId: REQUEST }),
      () =>
        collection.batch(
          [
            [5, 0],
            [6, 0],
          ],
          [null, REQUEST],
        ), // prettier-ignore
      () => collection.write(sealed),
    ])
      expect((await expectCode(insert(), 'validation_error')).message).to.equal('the request id belongs to a deletion');
    expect(await sequence()).to.equal(before);
  });

  it('is remembered by an import of its log', async () => {
    await remove(OLD);
    const away = new ScriptedLogs();
    const copy = new Engine(away).host({ ...configOf(9), origin: { project: 'p', name: 'c7', id: ID } });
    await copy.hosted.run({ op: 'importFrames', frames: await frames(), upTo: 6 }, soon());
    expect(await copy.write({ op: 'deleteMany', of: { ids: [3] }, requestId: REQUEST })).to.deep.equal({
      ...{ deleted: 2, missing: [], sequence: 5, deduplicated: true },
    });
    await copy.hosted.close({ keep: true });
  });

  it('in an import is refused if it counts more deletions than there are', async () => {
    const genesis = genesisOf(configOf(ID));
    const { timeMs } = genesis;
    const bare = { tag: 0, requestId: null, metadata: null, text: null, externalId: null };
    const written = await buildFrame(
      [genesis, { type: 'insert', sequence: 1, timeMs, actor: null, recordId: 1, vector: new Uint8Array(8), ...bare }],
      EMPTY_LOG,
      1,
      nextTurn,
    );
    const forged = await buildFrame(
      [
        { type: 'delete', sequence: 2, timeMs, actor: null, recordId: 1 },
        { type: 'deleteMany', sequence: 3, timeMs, actor: null, requestId: REQUEST, deleted: 2 },
      ],
      written.end,
      0,
      nextTurn,
    );
    const copy = new Engine(new ScriptedLogs()).host(configOf(ID));
    const sent = { op: 'importFrames', frames: [written.bytes, forged.bytes], upTo: 3 } as const;
    const { message } = await expectCode(copy.hosted.run(sent, soon()), 'validation_error');
    expect(message).to.include('event 3: the 2 preceding events are not all deletions');
    expect((await replayedLog([written.bytes, forged.bytes])).problems[0]).to.include('ends 2 deletions where 1 are');
    await copy.hosted.close({ keep: true });
  });
});
