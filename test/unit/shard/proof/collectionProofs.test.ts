// Covers: shard/proof/checkpoint.ts, shard/proof/timeline.ts
/** Proofs of a collection after writes, restarts and moves, compared with a plain replay of its frames. */
import { createPublicKey, verify } from 'node:crypto';
import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { toHex } from '../../../../shared/hashing/hash.js';
import { claimedStart, verifyFrame } from '../../../../shared/log/frame.js';
import type { PastReceipt, Receipt } from '../../../../shared/model/receipt.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import type { ProofCall } from '../../../../shared/protocol/proofs.js';
import type { WriteCall } from '../../../../shared/protocol/writes.js';
import { verifyReceipt } from '../../../../verifier/receipt.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { noPause } from '../../../support/rigs/auditHistory.js';
import {
  batchOf,
  configOf,
  Engine,
  fixed,
  insertOf,
  SIGNER,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { linksOf, replayedLog } from '../../../support/rigs/replayedLog.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';
import { checkConsistency, checkInclusion, logRootOf } from '../audit/logOracle.js';

const ID = 7;
const VERSION_BYTES = 1;
const HASH_BYTES = 32;

const ask = <C extends ProofCall>({ hosted }: TestCollection, call: C): Promise<Results[C['op']]> =>
  hosted.run(call, soon()) as Promise<Results[C['op']]>;
const receiptAt = (collection: TestCollection, sequence: number): Promise<Receipt> =>
  ask(collection, { op: 'proofReceipt', sequence });

/** All chain heads of the log, beginning with the genesis, from its frames alone. */
const headsOf = (logs: ScriptedLogs): Buffer[] =>
  linksOf(logs.frames(ID)).map(({ headAfter }) => Buffer.from(headAfter));

/** A random write of any kind, and its number of events. */
function someWrite(random: SeededRandom, live: number[], ids: { next: number }, nodes: number[]): [WriteCall, number] {
  const vector = (): Uint8Array => fixed(random.int(9), random.int(9));
  const take = (): number => live.splice(random.int(live.length), 1)[0] as number;
  const kind =
    live.length < 3 ? 'insert' : random.pick(['insert', 'batch', 'softDelete', 'delete', 'update', 'node'] as const);
  switch (kind) {
    case 'insert':
      live.push(ids.next++);
      return [insertOf(vector()), 1];
    case 'batch': {
      const count = 1 + random.int(6);
      for (let i = 0; i < count; i++) live.push(ids.next++);
      return [batchOf(Array.from({ length: count }, vector)), count];
    }
    case 'softDelete':
      return [{ op: 'softDelete', id: take() }, 1];
    case 'delete':
      return [{ op: 'delete', id: take() }, 1];
    case 'update':
      return [{ op: 'updateMetadata', id: random.pick(live), metadata: Buffer.from(`{"n":${random.int(99)}}`) }, 1];
    case 'node':
      nodes.push(nodes.length + 1);
      return [{ op: 'addNode', kind: 1, recordId: random.pick([null, random.pick(live)]) }, 1];
  }
}

interface Lived {
  readonly logs: ScriptedLogs;
  readonly collection: TestCollection;
  /** Receipts by sequence, as of their write; null if it changed no record. */
  readonly receipts: (Receipt | null)[];
}

async function live(writes: number, random: SeededRandom): Promise<Lived> {
  const logs = new ScriptedLogs();
  const collection = new Engine(logs).host(configOf(ID));
  const receipts: (Receipt | null)[] = [null];
  const alive: number[] = [];
  const nodes: number[] = [];
  const ids = { next: 1 };
  for (let n = 0; n < writes; n++) {
    const [call, events] = someWrite(random, alive, ids, nodes);
    const answer = (await collection.write(call)) as Partial<Results['insert']>;
    for (let i = 0; i < events; i++) {
      const sequence = receipts.length;
      const receipt = call.op === 'addNode' ? null : await receiptAt(collection, sequence);
      if (answer.receipt !== undefined) {
        const { actor, ...answered } = receipt as PastReceipt;
        expect(actor).to.deep.equal({ key_id: 'system' });
        expect(JSON.stringify(answered)).to.equal(answer.receipt);
      }
      receipts.push(receipt);
    }
  }
  return { logs, collection, receipts };
}

/** The collection, opened by another shard. */
const moved = async ({ logs, collection }: Lived): Promise<TestCollection> => {
  await collection.hosted.close({ keep: true });
  return new Engine(logs, { shard: 's2' }).host(configOf(ID));
};

describe('a collection proves', () => {
  it('every past write with its receipt, after later writes and on any shard', async () => {
    const lived = await live(250, seededRandom(testSeed()));
    const { logs, collection, receipts } = lived;
    const links = linksOf(logs.frames(ID));
    const check = async (asked: TestCollection): Promise<void> => {
      for (const [sequence, receipt] of receipts.entries()) {
        if (receipt === null) continue;
        expect(await receiptAt(asked, sequence), `event ${sequence}`).to.deep.equal(receipt);
      }
    };
    await check(collection);
    await check(await moved(lived));
    let newRoot: string | undefined;
    for (const receipt of receipts) {
      if (receipt === null) continue;
      expect(verifyReceipt(receipt), `event ${receipt.sequence}`).to.deep.equal([]);
      // Writes of the graph change no record, and so not the state root.
      if (newRoot !== undefined) expect(receipt.old_root).to.equal(newRoot);
      newRoot = receipt.new_root;
      expect('recordId' in links[receipt.sequence]!.event).to.equal(true);
    }
  });

  it('no receipt for an event that changed no record or does not exist', async () => {
    const { collection, receipts } = await live(60, seededRandom(testSeed()));
    const last = receipts.length - 1;
    const reason = async (sequence: number): Promise<string> =>
      (await expectCode(receiptAt(collection, sequence), 'validation_error')).message;
    expect(await reason(0)).to.match(/^event 0 is the genesis.*\/v1\/proof\/inclusion/);
    const node = receipts.indexOf(null, 1);
    if (node > 0)
      expect(await reason(node)).to.match(new RegExp(`^event ${node} is a new graph node and changed no record`));
    expect(await reason(last + 1)).to.equal(`there is no event ${last + 1}: the collection's log has ${last}`);
    const empty = new Engine(new ScriptedLogs()).host(configOf(ID));
    const nothing = await expectCode(receiptAt(empty, 0), 'validation_error');
    expect(nothing.message).to.match(/nothing was written/);
  });

  it('the inclusion of events and the consistency of logs, like a plain tree over its chain heads', async () => {
    const random = seededRandom(testSeed());
    const lived = await live(120, random);
    const heads = headsOf(lived.logs);
    const last = heads.length - 1;
    const other = await moved(lived);
    for (let round = 0; round < 200; round++) {
      const size = 1 + random.int(heads.length);
      const sequence = random.int(size);
      const { log, proof } = await ask(other, { op: 'proofInclusion', sequence, size });
      expect(log).to.deep.include({ size, sequence: size - 1 });
      expect(toHex(log.root), `size ${size}`).to.equal(logRootOf(heads.slice(0, size)));
      expect(proof[0]).to.equal(1);
      const leaf = proof.subarray(VERSION_BYTES, VERSION_BYTES + HASH_BYTES);
      expect(toHex(leaf), `event ${sequence}`).to.equal(toHex(heads[sequence]!));
      const path = proof.subarray(VERSION_BYTES + HASH_BYTES);
      expect(checkInclusion(leaf, sequence, size, path), `event ${sequence} in ${size}`).to.equal(toHex(log.root));

      const to = random.int(last + 1);
      const from = random.int(to + 1);
      const between = await ask(other, { op: 'proofConsistency', from, to });
      const its = [between.from, between.to].map(({ root }) => toHex(root)) as [string, string];
      const nodes = between.proof.subarray(VERSION_BYTES);
      expect(checkConsistency(from + 1, to + 1, ...its, nodes), `${from} to ${to}`).to.equal(true);
    }
    const now = await ask(other, { op: 'proofInclusion', sequence: 0, size: null });
    expect(now.log.size).to.equal(heads.length);
    for (const call of [
      { op: 'proofInclusion', sequence: last + 1, size: null },
      { op: 'proofInclusion', sequence: 5, size: 5 },
      { op: 'proofInclusion', sequence: 0, size: 0 },
      { op: 'proofInclusion', sequence: 0, size: heads.length + 1 },
      { op: 'proofConsistency', from: 3, to: 2 },
      { op: 'proofConsistency', from: 0, to: last + 1 },
    ] as const)
      await expectCode(ask(other, call), 'validation_error');
  });

  it('its state and its log by a signed checkpoint', async () => {
    const lived = await live(50, seededRandom(testSeed()));
    for (const its of [async () => lived.collection, () => moved(lived)]) {
      const collection = await its();
      const report = await replayedLog(lived.logs.frames(ID));
      const state = await ask(collection, { op: 'proofState' });
      expect(toHex(state.stateHash)).to.equal(report.stateHash);
      expect(toHex(state.stateRoot)).to.equal(report.stateRoot);
      expect(toHex(state.chainHead)).to.equal(report.chainHead);
      const heads = headsOf(lived.logs);
      expect(state.log).to.deep.include({ sequence: heads.length - 1, size: heads.length });
      expect(toHex(state.log.root)).to.equal(logRootOf(heads));

      const before = systemClock.nowMs();
      const { text, signature, publicKey } = await ask(collection, { op: 'checkpoint' });
      const lines = text.split('\n');
      expect(lines.slice(0, -2)).to.deep.equal([
        'vouch checkpoint v1',
        `p/c${ID}/${ID}/${report.configHash}`,
        String(heads.length),
        logRootOf(heads),
        report.chainHead,
        report.stateHash,
      ]);
      expect(Number(lines[6])).to.be.within(before, systemClock.nowMs());
      expect(lines).to.have.length(8);
      expect(lines[7]).to.equal('');
      expect(toHex(publicKey)).to.equal(toHex(SIGNER.publicKey));
      const x = Buffer.from(publicKey).toString('base64url');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      const bytes = Buffer.from(text);
      expect(verify(null, bytes, key, signature)).to.equal(true);
      for (let at = 0; at < bytes.length; at++) {
        bytes[at]! ^= 1;
        expect(verify(null, bytes, key, signature), `byte ${at}`).to.equal(false);
        bytes[at]! ^= 1;
      }
    }
  });

  it('its log under its own name only, even if the log comes from another collection', async () => {
    const logs = new ScriptedLogs();
    const origin = { project: 'bank', name: 'accounts', id: 3 };
    const collection = new Engine(logs).host({ ...configOf(ID), origin });
    await collection.insert([1, 1]);
    const report = await replayedLog(logs.frames(ID));
    expect(linksOf(logs.frames(ID))[0]!.event).to.deep.include({ project: 'bank', name: 'accounts' });
    const { text } = await ask(collection, { op: 'checkpoint' });
    expect(text.split('\n')[1]).to.equal(`p/c${ID}/${ID}/${report.configHash}`);
  });

  it('the empty state of an empty log, which later precedes the first event', async () => {
    const logs = new ScriptedLogs();
    const collection = new Engine(logs).host(configOf(ID));
    const empty = await ask(collection, { op: 'proofState' });
    expect(empty.log).to.deep.include({ sequence: 0, size: 0 });
    expect(toHex(empty.log.root)).to.equal(logRootOf([]));
    const { text } = await ask(collection, { op: 'checkpoint' });
    const search = { op: 'search', query: fixed(0, 0), k: 1, asOf: { logIndex: 0 } } as const;
    const asOfNothing = (await collection.hosted.run(search, soon())) as Results['search'];
    expect(toHex(empty.stateHash)).to.equal(asOfNothing.asOf?.stateHash);
    const none = await ask(collection, { op: 'proofConsistency', from: 0, to: 0 });
    expect([none.from.size, none.to.size, none.proof.length]).to.deep.equal([0, 0, VERSION_BYTES]);
    await collection.insert([1, 1]);
    const report = await replayedLog(logs.frames(ID));
    expect(text.split('\n').slice(1, 6)).to.deep.equal([
      `p/c${ID}/${ID}/${report.configHash}`,
      '0',
      logRootOf([]),
      '0'.repeat(64),
      toHex(empty.stateHash),
    ]);
    expect(toHex(empty.chainHead)).to.equal(toHex(linksOf(logs.frames(ID))[0]!.headAfter));
  });

  it('whole commits only: a request in the middle of a commit is answered with the whole', async () => {
    // At every reading of this clock the slice is used up, so that each event of a commit yields.
    let now = 0;
    const clock: Clock = { nowMs: systemClock.nowMs, monotonicMs: () => (now += 10) };
    const logs = new ScriptedLogs();
    const collection = new Engine(logs, { clock }).host(configOf(ID));
    await collection.insert([1, 1]);
    const batch = collection.batch(Array.from({ length: 300 }, (_, i) => [i, i]));
    const seen = new Set<number>();
    let isDone = false;
    void batch.finally(() => {
      isDone = true;
    });
    const states: Results['proofState'][] = [];
    while (!isDone) {
      states.push(await ask(collection, { op: 'proofState' }));
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { log, stateHash } of states) {
      seen.add(log.sequence);
      const frames = logs.frames(ID).slice(0, log.sequence === 1 ? 1 : 2);
      expect(toHex(stateHash)).to.equal((await replayedLog(frames)).stateHash);
    }
    expect([...seen].every((sequence) => sequence === 1 || sequence === 301)).to.equal(true);
  });

  it('old receipts in slices, while other work and writes continue, until their deadline', async () => {
    let now = 0;
    const clock: Clock = { nowMs: systemClock.nowMs, monotonicMs: () => (now += 10) };
    const collection = new Engine(new ScriptedLogs(), { clock }).host(configOf(ID));
    const count = 3_000;
    await collection.batch(Array.from({ length: count }, (_, i) => [i % 100, 1]));
    const then = await receiptAt(collection, count);
    await Promise.all(Array.from({ length: count - 1 }, (_, i) => collection.write({ op: 'delete', id: i + 1 })));
    let turns = 0;
    let isMade = false;
    const receipt = receiptAt(collection, count).finally(() => {
      isMade = true;
    });
    while (!isMade) {
      turns++;
      if (turns === 2) await collection.write({ op: 'softDelete', id: count });
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await receipt).to.deep.equal(then);
    expect(turns).to.be.at.least(5);
    const late = { requestId: 'test', deadlineMs: systemClock.nowMs() - 1 };
    await expectCode(collection.hosted.run({ op: 'proofReceipt', sequence: count }, late), 'unavailable');
  });

  it('no damaged frame: it reports the damage and accepts no later write', async () => {
    const { logs, collection } = await live(30, seededRandom(testSeed()));
    const frame = Uint8Array.from(logs.frames(ID)[3]!);
    const { events } = await verifyFrame(frame, claimedStart(frame), noPause);
    frame[frame.length - 60]! ^= 1;
    logs.tamper(ID, 3, frame);
    const timeline = { op: 'timeline', fromMs: 0, toMs: 9e12, after: 0, limit: 1_000 } as const;
    await expectCode(ask(collection, timeline), 'internal_error');
    await expectCode(receiptAt(collection, events[0]!.sequence), 'internal_error');
    await expectCode(collection.insert([1, 1]), 'internal_error');
  });
});
