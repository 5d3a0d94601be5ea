// Covers: client/pinnedCheckpoints.ts
/**
 * Verification of receipts, checkpoints and consistency proofs by the client, and its pinned checkpoints of a collection's
 * history.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { CheckpointResponse, ConsistencyResponse } from '../../../client/contract/proofs.js';
import type { Receipt } from '../../../client/contract/records.js';
import {
  type CheckpointStore,
  HistoryRewrittenError,
  memoryStore,
  ProofError,
  storageStore,
  Vouch,
  verifyConsistency,
  verifyReceipt,
} from '../../../client/index.js';
import { fileStore } from '../../../client/node.js';
import { fromWire } from '../../../client/spelling.js';
import { rejection } from '../../support/expectations.js';
import { formatExamples } from '../../support/rigs/formatExamples.js';
import {
  insert,
  signed,
  type WrittenLog,
  writeCheckpoint,
  writeConsistency,
  writeLog,
  writeLogAnd,
} from '../../support/rigs/writtenLog.js';

/** A client of a service that serves the checkpoints and consistency proofs of a hand-written log. */
function serving(log: () => WrittenLog, url = 'http://nowhere'): Vouch {
  const answer = async (path: string): Promise<object> => {
    const { pathname, searchParams } = new URL(path);
    const written = log();
    if (pathname.endsWith('/checkpoint')) return writeCheckpoint(written, written.events.length);
    const [from, to] = ['from', 'to'].map((name) => Number(searchParams.get(name)) + 1);
    return writeConsistency(written, from!, to!);
  };
  const fetched = async (path: unknown): Promise<Response> => Response.json(await answer(String(path)));
  return new Vouch({ url, fetch: fetched as typeof fetch });
}

const grown = (tag: number): WrittenLog => writeLogAnd([3, [2, insert(9, [tag, 0])]]);

describe('proofs in the client', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-pinned-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('a receipt verifies with the record that was sent and with no other record', async () => {
    const example = (await formatExamples()).find(({ title }) => title.startsWith('receipt of event 2'))!;
    const receipt = fromWire(JSON.parse(example.text)) as Receipt;
    const record = { values: [0, 3], tag: 20 };
    expect(verifyReceipt(receipt, { record })).to.include({ kind: 'insert', recordId: 2, sequence: 2 });
    for (const other of [
      { ...record, values: [0, 4] },
      { ...record, tag: 21 },
      { ...record, text: '' },
    ])
      expect(() => verifyReceipt(receipt, { record: other })).to.throw(ProofError, /not about this record/);
    expect(() => verifyReceipt({ ...receipt, recordId: 3 })).to.throw(ProofError, /record_id/);
    expect(() => verifyReceipt({ ...receipt, proof: `${receipt.proof}A` })).to.throw(ProofError);
  });

  const stores: [string, () => CheckpointStore][] = [
    ['memory', memoryStore],
    ['a file', () => fileStore(join(folder, 'seen.json'))],
    ['the storage of a browser', () => browserStore()],
  ];
  function browserStore(): CheckpointStore {
    const kept = new Map<string, string>();
    return storageStore({
      getItem: (key) => kept.get(key) ?? null,
      setItem: (key, value) => void kept.set(key, value),
    });
  }
  for (const [what, storeOf] of stores)
    it(`checkpoints pinned in ${what} accept a longer history and refuse a rewritten or shorter one`, async () => {
      let log = writeLog();
      const pinned = serving(() => log).pinnedCheckpoints(storeOf());
      const size = log.events.length;
      expect(await pinned.check('notes')).to.deep.include({ last: undefined, isKeyNew: false, events: size - 1 });
      log = grown(1);
      const { last, events } = await pinned.check('notes');
      expect([last?.size, events]).to.deep.equal([size, 1]);
      expect((await pinned.check('notes')).events).to.equal(0);
      log = grown(2);
      const rewritten = await rejection(pinned.check('notes'));
      expect(rewritten).to.be.instanceOf(HistoryRewrittenError);
      expect(rewritten.message).to.match(/the same number of events, but different ones/);
      log = writeLog();
      expect((await rejection(pinned.check('notes'))).message).to.match(/it had \d+ events and has \d+/);
      log = writeLogAnd([3, [2, insert(9, [7, 0])]], [4, [2, insert(10, [8, 0])]]);
      expect((await rejection(pinned.check('notes'))).message).to.match(/the events seen before have changed/);
      log = grown(1);
      expect((await pinned.check('notes')).events, 'what was seen stays').to.equal(0);
    });

  it('the checkpoint of another collection is not pinned but refused', async () => {
    const kept = new Map<string, string>();
    const failed = await rejection(
      serving(() => grown(1))
        .pinnedCheckpoints(kept)
        .check('ledger'),
    );
    expect(failed).to.be.instanceOf(ProofError);
    expect(failed.message).to.include('the checkpoint is of acme/notes, not of ledger');
    expect(kept.size).to.equal(0);
  });

  it('a consistency proof between checkpoints of two collections with the same log is refused', async () => {
    const log = grown(1);
    const [from, to] = [await writeCheckpoint(log, 3), await writeCheckpoint(log, 5)];
    const copy = signed(to.checkpoint.replace('acme/notes/17', 'acme/copy/18'));
    const consistency = fromWire(writeConsistency(log, 3, 5)) as ConsistencyResponse;
    const wired = (checkpoint: object) => fromWire(checkpoint) as CheckpointResponse;
    expect(verifyConsistency(consistency, { from: wired(from), to: wired(to) }).to.size).to.equal(5);
    expect(() => verifyConsistency(consistency, { from: wired(from), to: wired(copy) })).to.throw(
      ProofError,
      'the earlier checkpoint is of acme/notes, id 17, the later one of acme/copy, id 18',
    );
  });

  it('pinned checkpoints are read from the file of an earlier process', async () => {
    const path = join(folder, 'next.json');
    const log = writeLog();
    await serving(() => log)
      .pinnedCheckpoints(fileStore(path))
      .check('notes');
    expect(Object.keys(JSON.parse(await readFile(path, 'utf8')))).to.deep.equal([
      'vouch-seen/http://nowhere/acme/notes',
    ]);
    const { last } = await serving(() => log)
      .pinnedCheckpoints(fileStore(path))
      .check('notes');
    expect(last?.size).to.equal(log.events.length);
  });

  it('one store keeps collections of the same name apart if two services serve them', async () => {
    const store = memoryStore();
    const [one, other] = [writeLog(), grown(1)];
    await serving(() => other)
      .pinnedCheckpoints(store)
      .check('notes');
    const { last } = await serving(() => one, 'http://elsewhere')
      .pinnedCheckpoints(store)
      .check('notes');
    expect(last).to.equal(undefined);
  });

  it('a checkpoint signed by another key than the given one is refused', async () => {
    const log = writeLog();
    const checking = serving(() => log)
      .pinnedCheckpoints(memoryStore())
      .check('notes', { publicKey: '00'.repeat(32) });
    expect(await rejection(checking)).to.be.instanceOf(ProofError);
  });

  it('an invalid publicKey is a TypeError, not treated as a missing one', async () => {
    const pinned = serving(() => log).pinnedCheckpoints(memoryStore());
    const log = writeLog();
    for (const publicKey of [undefined, '', 'zz', '00'.repeat(31)])
      expect(await rejection(pinned.check('notes', { publicKey }))).to.be.instanceOf(TypeError);
    expect((await pinned.check('notes')).last).to.equal(undefined);
  });
});
