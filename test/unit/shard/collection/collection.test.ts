// Covers: shard/state/commitBuilder.ts, shard/collection/analysedCall.ts, shard/collection/logReading.ts
// Covers: shard/collection/openBytes.ts, shard/collection/openParts.ts, shard/state/keptFields.ts
// Covers: shard/state/recordChanges.ts, shard/state/recordTable.ts
/** A collection over local logs: order, receipts, idempotency, capacity, and equal states from equal logs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { systemClock } from '../../../../shared/clock.js';
import { LOG_START } from '../../../../shared/log/eventLog.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import type { Receipt } from '../../../../shared/model/receipt.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { nextTurn } from '../../../../shared/scheduling/slice.js';
import { verifyReceipt } from '../../../../verifier/receipt.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import {
  batchOf,
  configOf,
  Engine,
  type EngineOptions,
  fixed,
  requestIdOf,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';

const ID = 7;

describe('a collection over its log', () => {
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

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-collection-'));
    await open();
  });
  afterEach(async () => {
    await collection.hosted.close({ keep: true });
    await logs.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('gives concurrent writes ids and sequences in order of arrival, in one frame', async () => {
    await collection.insert([0, 0]);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => collection.insert([i, i])));
    expect(answers.map(({ id }) => id)).to.deep.equal(Array.from({ length: 50 }, (_, i) => i + 2));
    expect(answers.map(({ receipt }) => receipt.sequence)).to.deep.equal(answers.map(({ id }) => id));
    expect(await frames()).to.have.length(2);
    answers.forEach(({ receipt }, i) => {
      expect(verifyReceipt(receipt)).to.deep.equal([]);
      if (i > 0) expect(receipt.old_root).to.equal(answers[i - 1]?.receipt.new_root);
    });
  });

  it('returns receipts that agree with an independent replay of its frames', async () => {
    const receipts = await Promise.all([1, 2, 3].map((n) => collection.insert([n, 0])));
    await collection.write({ op: 'softDelete', id: 2 });
    await collection.write({ op: 'delete', id: 1 });
    await collection.write({ op: 'updateMetadata', id: 3, metadata: Buffer.from('{"a":1}') });
    const { receipt } = await collection.insert([9, 9], { metadata: Buffer.from('{}'), text: 'é', tag: 5 });
    const report = await replayedLog(await frames());
    expect(report.problems).to.deep.equal([]);
    expect(report).to.include({ liveRecords: 2, stateRoot: receipt.new_root, stateHash: receipt.state_hash });
    expect(receipts.map((one) => one.receipt.sequence)).to.deep.equal([1, 2, 3]);
  });

  it('returns equal receipts after a restart, also for old writes', async () => {
    const random = seededRandom(testSeed());
    const written = await randomLife(collection, random);
    const report = await replayedLog(await frames());
    expect(report.problems).to.deep.equal([]);
    await restart();
    for (const [n, receipt] of written) expect(await collection.replay(requestIdOf(n))).to.deep.equal(receipt);
    const { receipt } = await collection.insert([1, 1]);
    expect(receipt.old_root).to.equal(report.stateRoot);
    expect(await collection.records()).to.equal(report.liveRecords + 1);
  });

  it('stores one record for a request id within a frame, a batch, and after a restart', async () => {
    const requestId = requestIdOf(1);
    const twice = await Promise.all([
      collection.insert([1, 1], { requestId }),
      collection.insert([2, 2], { requestId }),
      collection.batch(
        [
          [3, 3],
          [4, 4],
          [5, 5],
        ],
        [requestId, requestIdOf(2), requestIdOf(2)],
      ),
    ]);
    expect(twice[1]).to.deep.equal({ ...twice[0], deduplicated: true });
    expect(twice[2]).to.deep.equal([1, 2, 2]);
    await restart();
    expect(await collection.insert([6, 6], { requestId })).to.deep.equal({ ...twice[0], deduplicated: true });
    expect(await collection.batch([[7, 7]], [requestIdOf(2)])).to.deep.equal([2]);
    expect(await collection.records()).to.equal(2);
  });

  it('remembers a request id also for a deleted record', async () => {
    const requestId = requestIdOf(1);
    const first = await collection.insert([1, 1], { requestId });
    await collection.write({ op: 'delete', id: 1 });
    expect(await collection.insert([1, 1], { requestId })).to.deep.equal({ ...first, deduplicated: true });
  });

  it('remembers the configured number of newest request ids, also after a restart', async () => {
    await restart({ dedupWindow: 3 });
    for (let n = 0; n < 5; n++) await collection.insert([n, 0], { requestId: requestIdOf(n) });
    for (let round = 0; round < 2; round++) {
      for (const n of [2, 3, 4]) expect((await collection.replay(requestIdOf(n))).record_id).to.equal(n + 1);
      await restart({ dedupWindow: 3 });
    }
    expect(await collection.insert([0, 0], { requestId: requestIdOf(1) })).to.include({ id: 6, deduplicated: false });
    // Request id 1 is the newest now, so the oldest of the three is dropped.
    expect((await collection.replay(requestIdOf(1))).record_id).to.equal(6);
    expect(await collection.insert([0, 0], { requestId: requestIdOf(2) })).to.include({ id: 7, deduplicated: false });
  });

  it('counts a request id as of its second use if a smaller window had dropped the first', async () => {
    await restart({ dedupWindow: 1 });
    for (const n of [0, 1, 0, 2]) await collection.insert([n, 0], { requestId: requestIdOf(n) });
    await restart({ dedupWindow: 2 });
    expect((await collection.replay(requestIdOf(0))).record_id).to.equal(3);
  });

  it('applies deletes of one frame in order', async () => {
    await collection.batch([
      [1, 0],
      [2, 0],
      [3, 0],
    ]);
    const outcomes = await Promise.allSettled([
      collection.write({ op: 'softDelete', id: 1 }),
      collection.write({ op: 'softDelete', id: 1 }),
      collection.write({ op: 'updateMetadata', id: 1, metadata: Buffer.from('{}') }),
      collection.write({ op: 'delete', id: 1 }),
      collection.write({ op: 'delete', id: 1 }),
      collection.write({ op: 'delete', id: 2 }),
      collection.write({ op: 'softDelete', id: 2 }),
      collection.insert([4, 0]),
      collection.write({ op: 'delete', id: 4 }),
      collection.write({ op: 'softDelete', id: 4 }),
      collection.write({ op: 'delete', id: 5 }),
    ]);
    expect(outcomes.map(({ status }) => status === 'fulfilled')).to.deep.equal(
      [true, false, false, true, false, true, false, true, true, false, false], // prettier-ignore
    );
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).to.include({ code: 'record_not_found' });
    expect(await frames()).to.have.length(2);
    expect(await collection.found()).to.deep.equal([3]);
    expect((await replayedLog(await frames())).problems).to.deep.equal([]);
    await restart();
    expect(await collection.found()).to.deep.equal([3]);
    expect((await collection.insert([5, 0])).id).to.equal(5);
  });

  it('commits a batch whole or not at all, independently of its frame', async () => {
    await restart({ capacity: 3 });
    const rows = [
      [1, 0],
      [2, 0],
      [3, 0],
    ];
    const [first, batch, second] = await Promise.allSettled([
      collection.insert([8, 0]),
      collection.batch(rows),
      collection.insert([9, 0]),
    ]);
    expect([first.status, batch.status, second.status]).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
    expect((batch as PromiseRejectedResult).reason).to.include({ code: 'capacity_exceeded' });
    expect(await collection.found()).to.deep.equal([1, 2]);
  });

  for (const { what, filter } of [
    { what: 'a search', filter: undefined },
    {
      what: 'a search with a filter that gives way',
      filter: filterOf({ $or: [{ a: 1 }, { a: { gte: 2 } }, { a: 0 }] }),
    },
  ])
    it(`in ${what} reports the sequence that it sees, also while a frame is half applied`, async () => {
      // At every reading of the clock the slice is used up.
      let ms = 0;
      await restart({ clock: { ...systemClock, monotonicMs: () => (ms += 5) } });
      const sequences: number[] = [];
      let isOver = false;
      const rows = Array.from({ length: 200 }, (_, i) => [i, 0]);
      const metadata = rows.map((_, i) => Buffer.from(`{"a": ${i % 3}}`));
      const call = { ...batchOf(rows.map((row) => fixed(...row))), metadata } as WriteCall;
      const writing = collection.write(call).then(() => {
        isOver = true;
      });
      while (!isOver) {
        const asked = {
          op: 'search',
          query: fixed(0, 0),
          k: 5_000,
          tellSequence: true,
          ...(filter && { filter }),
        } as const;
        const { ids, sequence } = (await collection.hosted.run(asked, soon())) as Results['search'];
        expect(ids.length / 8).to.equal(sequence);
        sequences.push(sequence as number);
        await nextTurn();
      }
      await writing;
      expect(sequences.filter((sequence) => sequence > 0 && sequence < 200)).to.have.length.above(3);
    });

  it('accepts deletes, replays and inserts into the freed places when full, in one frame', async () => {
    await restart({ capacity: 2 });
    const requestId = requestIdOf(1);
    await collection.insert([1, 0], { requestId });
    await collection.insert([2, 0]);
    await expectCode(collection.insert([3, 0]), 'capacity_exceeded');
    const [replay, , third] = await Promise.all([
      collection.insert([9, 9], { requestId }),
      collection.write({ op: 'softDelete', id: 2 }),
      collection.insert([3, 0]),
    ]);
    expect(replay).to.include({ id: 1, deduplicated: true });
    expect(third).to.include({ id: 3, deduplicated: false });
    await expectCode(collection.insert([4, 0]), 'capacity_exceeded');
    // The soft delete has already freed the place; a permanent deletion frees no other.
    await collection.write({ op: 'delete', id: 2 });
    await expectCode(collection.insert([4, 0]), 'capacity_exceeded');
    expect(await collection.batch([])).to.deep.equal([]);
  });

  it('above a lowered capacity accepts replays and empty batches', async () => {
    const requestId = requestIdOf(1);
    await collection.insert([1, 0], { requestId });
    await collection.batch([
      [2, 0],
      [3, 0],
    ]);
    await restart({ capacity: 1 });
    expect(await collection.batch([])).to.deep.equal([]);
    expect(await collection.batch([[1, 0]], [requestId])).to.deep.equal([1]);
    await expectCode(collection.insert([4, 0]), 'capacity_exceeded');
  });
});

/** Random inserts, batches and deletions. Returns the receipts by request id. */
async function randomLife(collection: TestCollection, random: SeededRandom): Promise<Map<number, Receipt>> {
  const receipts = new Map<number, Receipt>();
  let records = 0;
  for (let n = 0; n < 60; n++) {
    const kind = random.int(4);
    if (kind < 2) {
      const answers = await Promise.all(
        Array.from({ length: 1 + random.int(4) }, (_, i) =>
          collection.insert([n, i], { requestId: requestIdOf(n * 10 + i), text: random.int(2) ? 'words' : null }),
        ),
      );
      answers.forEach(({ receipt }, i) => {
        receipts.set(n * 10 + i, receipt);
      });
      records += answers.length;
    } else if (kind === 2) {
      const rows = Array.from({ length: 1 + random.int(5) }, (_, i) => [n, i]);
      await collection.batch(rows);
      records += rows.length;
    } else {
      const op = random.pick(['softDelete', 'delete'] as const);
      await collection.write({ op, id: 1 + random.int(records + 1) }).catch(() => undefined);
    }
  }
  return receipts;
}
