// Covers: shard/capacity/quota.ts, shard/collection/capacityReservation.ts, shard/state/growth.ts
// Covers: shard/state/keptBytes.ts, shared/model/quotas.ts
/** The byte quota: counted bytes, refused writes, and freed bytes. */
import { expect } from 'chai';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type HeldBytes, totalHeld } from '../../../../shared/model/quotas.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import {
  configOf,
  Engine,
  type EngineOptions,
  fixed,
  soon,
  type TestCollection,
} from '../../../support/rigs/engine.js';
import { ScriptedLogs } from '../../../support/rigs/scriptedLogs.js';

const VECTOR_BYTES = 8;
/** Bytes of a frame around its events. */
const FRAME_BYTES = 112;
/** The actor `system`, which a frame states once. */
const ACTOR_BYTES = 8;
/** Lengths of event and actor, of an insert or update without vector, metadata and text. */
const INSERT_BYTES = 6 + 72;
const UPDATE_BYTES = 6 + 40;
const DELETE_BYTES = 6 + 32;
const ENCRYPTED_BYTES = 6 + 96;
const KEY = 'ab'.repeat(16);

/** Collections on one shard, with their expected bytes. */
class QuotaRig {
  readonly logs = new ScriptedLogs();
  readonly bucket = new MemoryBucket({ logger: silentLogger });
  readonly reached = new MemoryBucket({ logger: silentLogger });
  collections: TestCollection[];

  constructor(
    private readonly options: EngineOptions,
    private readonly count = 1,
  ) {
    this.collections = this.open();
  }

  /** Opens the collections on a new shard over the same logs. */
  open(): TestCollection[] {
    const engine = new Engine(this.logs, { bucket: this.bucket, reached: this.reached, ...this.options });
    this.collections = Array.from({ length: this.count }, (_, i) => engine.host(configOf(i + 1)));
    return this.collections;
  }

  get one(): TestCollection {
    return this.collections[0]!;
  }

  async stored(collection = this.one): Promise<HeldBytes> {
    return collection.hosted.heldBytes();
  }

  async total(): Promise<number> {
    let total = 0;
    for (const { hosted } of this.collections)
      total += totalHeld(await hosted.heldBytes()) + (await hosted.count()).logBytes;
    return total;
  }

  async reserved(): Promise<number> {
    const parts = ((await this.bucket.get('p.bytes'))?.value ?? {}) as Record<string, number>;
    return Object.values(parts).reduce((sum, part) => sum + part, 0);
  }
}

const json = (length: number): Uint8Array => Buffer.from(`{"a":"${'x'.repeat(length)}"}`);
const encrypted = (payload: string, keyId = KEY) =>
  ({
    op: 'insertEncrypted',
    payload: Buffer.from(payload),
    tag: 0,
    keyId,
    requestId: null,
  }) as const;

describe('the byte quota of a project', () => {
  it('counts stored vectors, metadata, texts and payloads, and every byte of the log', async () => {
    const rig = new QuotaRig({});
    await rig.one.insert([1, 2], { metadata: json(10), text: 'é' });
    const stored = { vectors: 8, metadata: json(10).length, texts: 2, payloads: 0 };
    expect(await rig.stored()).to.deep.equal(stored);
    const { logBytes } = await rig.one.hosted.count();
    await rig.one.write({ op: 'updateMetadata', id: 1, metadata: json(3) });
    expect(await rig.stored()).to.deep.equal({ ...stored, metadata: json(3).length });
    const updated = logBytes + FRAME_BYTES + ACTOR_BYTES + UPDATE_BYTES + json(3).length;
    expect((await rig.one.hosted.count()).logBytes).to.equal(updated);
    await rig.one.write(encrypted('secret'));
    expect(await rig.stored()).to.include({ payloads: 6 + 16 });
    // A search of the past can still find the record.
    await rig.one.write({ op: 'softDelete', id: 1 });
    expect(await rig.stored()).to.include({ vectors: 8, metadata: json(3).length, texts: 2 });
    await rig.one.write({ op: 'delete', id: 1 });
    expect(await rig.stored()).to.deep.equal({ vectors: 0, metadata: 0, texts: 0, payloads: 22 });
    await rig.one.write(encrypted('more', '01'.repeat(16)));
    await rig.one.write({ op: 'shredKey', keyId: KEY });
    expect(await rig.stored()).to.include({ payloads: 4 + 16 });
    // The shred has already freed it.
    await rig.one.write({ op: 'delete', id: 2 });
    expect(await rig.stored()).to.include({ payloads: 4 + 16 });
  });

  it('is filled to the last byte and never exceeded, and a refusal names its use', async () => {
    const probe = new QuotaRig({});
    await probe.one.insert([1, 2], { metadata: json(1) });
    const first = await probe.total();
    const second = FRAME_BYTES + ACTOR_BYTES + INSERT_BYTES + 2 * VECTOR_BYTES;
    const exact = new QuotaRig({ capacityBytes: first + second });
    await exact.one.insert([1, 2], { metadata: json(1) });
    await exact.one.insert([1, 2]);
    expect(await exact.total()).to.equal(first + second);
    const short = new QuotaRig({ capacityBytes: first + second - 1 });
    await short.one.insert([1, 2], { metadata: json(1) });
    const refusal = await expectCode(short.one.insert([1, 2]), 'capacity_exceeded');
    expect(refusal.message).to.equal(
      `the quota of bytes is full: the project uses ${first + FRAME_BYTES} of ${first + second - 1} bytes, and the request ` +
        `adds ${second - FRAME_BYTES}`,
    );
    expect(await short.total()).to.equal(first);
    expect(await short.one.records()).to.equal(1);
  });

  it('leaves room for deletes that share a frame with growing writes', async () => {
    const probe = new QuotaRig({});
    await probe.one.insert([1, 2]);
    const both = FRAME_BYTES + ACTOR_BYTES + DELETE_BYTES + INSERT_BYTES + 2 * VECTOR_BYTES;
    const rig = new QuotaRig({ capacityBytes: (await probe.total()) + both });
    await rig.one.insert([1, 2]);
    await Promise.all([rig.one.write({ op: 'softDelete', id: 1 }), rig.one.insert([3, 4])]);
    expect(await rig.total(), 'in one frame, filled to the last byte').to.equal((await probe.total()) + both);
  });

  it('refuses only when the project is full, after every kind of write', async () => {
    const random = seededRandom(testSeed());
    const capacityBytes = 40_000;
    const rig = new QuotaRig({ capacityBytes }, 3);
    const living = rig.collections.map((): number[] => []);
    let refused = 0;
    let inDeletes = 0;
    for (let step = 0; step < 300; step++) {
      const at = random.int(rig.collections.length);
      const collection = rig.collections[at]!;
      const before = await rig.total();
      const { sequence } = await collection.hosted.count();
      const { write, bytes } = randomWrite(random, collection, living[at]!);
      const isTaken = await write().then(
        () => true,
        (error: { code: string }) => {
          expect(error.code).to.equal('capacity_exceeded');
          return false;
        },
      );
      const after = await rig.total();
      if (!isTaken) {
        refused++;
        expect(after).to.equal(before);
        const genesis = sequence === 0 ? 100 : 0;
        expect(before + FRAME_BYTES + ACTOR_BYTES + genesis + bytes, `step ${step}`).to.be.above(capacityBytes);
      }
      if (bytes === 0) inDeletes += FRAME_BYTES + ACTOR_BYTES + DELETE_BYTES;
      // Deletes may exceed the quota. Metadata replaced by shorter metadata may exceed it by its frame.
      expect(after).to.be.at.most(Math.max(capacityBytes + inDeletes, before + FRAME_BYTES + ACTOR_BYTES));
      expect(await rig.reserved()).to.be.at.most(capacityBytes);
    }
    expect(refused).to.be.above(10);
  });

  it('accepts deletes and shreds when it is full, and then the bytes that they free', async () => {
    const rig = new QuotaRig({ capacityBytes: 3_000 });
    await rig.one.insert([1, 2], { metadata: json(700) });
    await rig.one.write(encrypted('x'.repeat(100)));
    await expectCode(rig.one.insert([3, 4], { metadata: json(400) }), 'capacity_exceeded');
    await expectCode(rig.one.write(encrypted('x'.repeat(400))), 'capacity_exceeded');
    await expectCode(rig.one.write({ op: 'updateMetadata', id: 1, metadata: json(1_200) }), 'capacity_exceeded');
    await rig.one.write({ op: 'softDelete', id: 1 });
    await expectCode(rig.one.insert([3, 4], { metadata: json(400) }), 'capacity_exceeded');
    await rig.one.write({ op: 'shredKey', keyId: KEY });
    await rig.one.write({ op: 'delete', id: 1 });
    expect(await rig.one.insert([3, 4], { metadata: json(100) })).to.include({ id: 3 });
    const before = await rig.one.hosted.count();
    while ((await rig.one.write({ op: 'addNode', kind: 1, recordId: null }).catch(() => undefined)) !== undefined);
    await rig.one.write({ op: 'deleteNode', id: 1 });
    expect((await rig.one.hosted.count()).sequence).to.be.above(before.sequence + 1);
  });

  it('counts a closed collection by its watermark, or by its log if the watermark is behind', async () => {
    const rig = new QuotaRig({ notesEveryMs: 1 });
    await rig.one.insert([1, 2], { metadata: json(10), text: 'words' });
    await rig.one.write(encrypted('secret'));
    const stored = await rig.stored();
    await rig.one.hosted.close({ keep: true });
    const [again] = rig.open();
    expect(await again!.hosted.heldBytes()).to.deep.equal(stored);
    expect(again!.hosted.openCollection, 'opened').to.equal(undefined);

    await again!.insert([3, 4]);
    // Killed: the note is one write behind, or has no byte counts, like notes of earlier versions.
    const { value, revision } = (await rig.reached.get('1'))!;
    await rig.reached.update('1', { sequence: 1, chain_head: (value as { chain_head: string }).chain_head }, revision);
    const killed = new QuotaRig({ notesEveryMs: 1_000_000 });
    const behind = new Engine(rig.logs, { reached: killed.reached }).host(configOf(1));
    expect(await behind.hosted.heldBytes()).to.deep.equal({ ...stored, vectors: 16 });
    expect(behind.hosted.openCollection, 'opened').not.to.equal(undefined);
  });

  it('blocks a second collection until a trim of the first, also if that one is closed', async () => {
    const rig = new QuotaRig({ capacityBytes: 5_000, notesEveryMs: 1 }, 2);
    await rig.one.insert([1, 2], { metadata: json(500) });
    const total = await rig.total();
    const { logBytes } = await rig.one.hosted.count();
    await rig.one.hosted.close({ keep: true });
    const [, second] = rig.open();
    const room = 5_000 - total;
    const overhead = 2 * VECTOR_BYTES + INSERT_BYTES + FRAME_BYTES;
    const genesis = logBytes - FRAME_BYTES - INSERT_BYTES - VECTOR_BYTES - json(500).length;
    const length = Math.floor((room - overhead - genesis) / 2);
    await expectCode(second!.insert([1, 2], { metadata: new Uint8Array(length + 1) }), 'capacity_exceeded');
    await second!.insert([1, 2], { metadata: new Uint8Array(length) });
    expect(await rig.total()).to.be.within(4_999, 5_000);
  });
});

/** A random write. `bytes` is its maximum growth without the frame. */
function randomWrite(
  random: SeededRandom,
  collection: TestCollection,
  living: number[],
): { readonly write: () => Promise<unknown>; readonly bytes: number } {
  const metadata = json(random.int(300));
  const kind = random.int(5);
  if (kind === 0 && living.length > 0) {
    const [id] = living.splice(0, 1) as [number];
    return { write: () => collection.write({ op: 'delete', id }), bytes: 0 };
  }
  if (kind === 1 && living.length > 0) {
    const update = { op: 'updateMetadata', id: random.pick(living), metadata } as const;
    return { write: () => collection.write(update), bytes: UPDATE_BYTES + 2 * metadata.length };
  }
  if (kind === 2) {
    const payload = 'x'.repeat(random.int(200));
    return { write: () => collection.write(encrypted(payload)), bytes: ENCRYPTED_BYTES + 2 * (payload.length + 16) };
  }
  const rows = 1 + random.int(4);
  const call = {
    op: 'insertBatch',
    count: rows,
    vectors: Buffer.concat(Array.from({ length: rows }, () => fixed(1, 2))),
    metadata: Array.from({ length: rows }, () => metadata),
    texts: null,
    requestIds: null,
  } as const;
  const write = async (): Promise<void> => {
    const { ids } = (await collection.hosted.run(call, soon())) as { ids: Uint8Array };
    living.push(...new Float64Array(new Uint8Array(ids).buffer));
  };
  return { write, bytes: rows * (INSERT_BYTES + 2 * (VECTOR_BYTES + metadata.length)) };
}
