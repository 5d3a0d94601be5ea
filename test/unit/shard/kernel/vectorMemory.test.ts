// Covers: shard/kernel/arena.ts
import { expect } from 'chai';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { type Region, VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { bytesOf, Modelled, randomVector } from './kernelOracle.js';

const KIB = 1 << 10;
const MIB = 1 << 20;

const codeOf = (act: () => unknown): string | undefined => {
  try {
    act();
  } catch (error) {
    return error instanceof VouchError ? error.code : String(error);
  }
  return undefined;
};

/** Adds rows until the memory is full. Returns their number. */
function fill(vectors: VectorBlocks): number {
  const vector = new Uint8Array(4 * vectors.dimension);
  for (let rows = 0; ; rows++) {
    let slot = -1;
    const refusal = codeOf(() => {
      slot = vectors.acquire();
    });
    if (refusal !== undefined) {
      expect(refusal).to.equal('capacity_exceeded');
      return rows;
    }
    vectors.write(slot, rows + 1, vector);
    vectors.publish(slot);
  }
}

describe('vector memory', () => {
  const random = seededRandom(testSeed());

  it('is not used by an empty collection', () => {
    const memory = new VectorMemory();
    const collections = Array.from({ length: 1_000 }, (_, i) => new VectorBlocks(memory, i + 1));
    expect(collections.map(({ bytes }) => bytes)).to.deep.equal(new Array(1_000).fill(0));
    expect([memory.usedBytes, memory.grownBytes]).to.deep.equal([0, 0]);
  });

  it('grows with the rows: it is small for few, and at most a quarter larger than many', () => {
    for (const dimension of [1, 4, 100, 128, 768, 4_096]) {
      const codeBytes = dimension < 16 ? 0 : 16 * Math.ceil(dimension / 16) + 8;
      const rowBytes = 16 * Math.ceil(dimension / 4) + 8 + codeBytes;
      const vectors = new VectorBlocks(new VectorMemory(), dimension);
      vectors.reserve(1);
      expect(vectors.bytes).to.be.at.most(18 * rowBytes + 64);
      const rows = Math.ceil((64 * MIB) / rowBytes);
      vectors.reserve(rows);
      expect(vectors.bytes / (rows * rowBytes), `${dimension}`).to.be.within(1, 1.25);
      vectors.destroy();
    }
  });

  it('is limited, with capacity_exceeded, and usable again after deletions', async () => {
    const memory = new VectorMemory({ boundBytes: 3 * MIB });
    const first = new VectorBlocks(memory, 128);
    const second = new VectorBlocks(memory, 64);
    const rows = fill(first);
    expect(rows).to.be.within((0.6 * 3 * MIB) / 264, (3 * MIB) / 264);
    expect(memory.usedBytes).to.be.at.most(3 * MIB);
    fill(second);
    expect(codeOf(() => first.reserve(1))).to.equal('capacity_exceeded');

    // Existing rows are still found, and the slot of a deleted row is reused.
    const hits = await first.search(new Int32Array(128), 5_000, async () => {});
    expect(hits.ids.length).to.equal(Math.min(rows, 5_000));
    first.release(7);
    first.reserve(1);
    expect(first.acquire()).to.equal(7);

    first.destroy();
    expect(codeOf(() => second.reserve(second.liveCount + 100))).to.equal(undefined);
    second.destroy();
    expect(memory.usedBytes).to.equal(0);
  });

  it('has room for every reserved row', () => {
    const memory = new VectorMemory({ boundBytes: MIB });
    const vectors = new VectorBlocks(memory, 100);
    vectors.reserve(500);
    const slots = Array.from({ length: 500 }, () => vectors.acquire());
    expect(new Set(slots).size).to.equal(500);
    expect(codeOf(() => vectors.reserve(1_000_000))).to.equal('capacity_exceeded');
    for (const slot of slots.slice(0, 200)) vectors.release(slot);
    const before = memory.usedBytes;
    vectors.reserve(200);
    expect(memory.usedBytes).to.equal(before);
  });

  it('opens another arena when one is full, and searches cover all arenas', async () => {
    const memory = new VectorMemory({ arenaBytes: 2 * MIB });
    const collection = new Modelled(64, memory);
    for (let i = 0; i < 14_000; i++) collection.insert(randomVector(random, 64, 2 ** 17));
    const arenas = new Set(collection.vectors.blocks.map(({ region }) => region.arena));
    expect(arenas.size).to.be.at.least(3);
    for (const k of [1, 10, 200]) await collection.check(randomVector(random, 64, 2 ** 17), k);
    const used = [...arenas].reduce((sum, { usedBytes }) => sum + usedBytes, 0);
    expect(used, 'a scan leaves nothing behind').to.equal(memory.usedBytes);
  });

  it('has room for scans although released blocks left only small pieces', async () => {
    const memory = new VectorMemory({ arenaBytes: 2 * MIB });
    const collection = new Modelled(64, memory);
    for (let i = 0; i < 1_000; i++) collection.insert(randomVector(random, 64, 2 ** 17));
    const { region } = collection.vectors.blocks[0]!;
    const small: Region[] = [];
    for (;;) {
      const block = memory.allocateBlock(4 * KIB);
      if (block.arena !== region.arena) break;
      small.push(block);
    }
    for (const [at, block] of small.entries()) if (at % 2 === 0) memory.freeBlock(block);
    expect(small.length).to.be.above(100);
    expect(region.arena.allocate(8 * KIB)).to.equal(undefined);
    for (const k of [1, 10, 10_000]) await collection.check(randomVector(random, 64, 2 ** 17), k);
    const pieces: number[] = [];
    for (let piece = region.arena.allocateScratch(64 * KIB); piece !== undefined; ) {
      pieces.push(piece);
      piece = region.arena.allocateScratch(64 * KIB);
    }
    expect(new Set(pieces).size).to.equal(MIB / 2 / (64 * KIB));
    for (const piece of pieces) region.arena.freeScratch(piece, 64 * KIB);
    await collection.check(randomVector(random, 64, 2 ** 17), 1_000);
  });

  it('works in the upper half of an arena, where addresses exceed an i32', async () => {
    const memory = new VectorMemory();
    // Allocated but never touched: address space, not memory.
    for (let exponent = 30; exponent >= 20; exponent--) memory.allocateBlock(2 ** exponent);
    const collection = new Modelled(4_096, memory);
    for (let i = 0; i < 200; i++) collection.insert(randomVector(random, 4_096, 2 ** 17));
    const addresses = collection.vectors.blocks.map(({ region }) => region.address);
    expect(Math.max(...addresses)).to.be.at.least(2 ** 31);
    for (const bits of [17, 31]) await collection.check(randomVector(random, 4_096, 2 ** bits), 10);
    const slot = [...collection.rows.keys()].at(-1)!;
    expect(collection.vectors.vectorBytes(slot)).to.deep.equal(bytesOf(collection.rows.get(slot)!.vector));
  });

  it('keeps many collections apart', async () => {
    const memory = new VectorMemory();
    const collections = Array.from({ length: 150 }, () => new Modelled(1 + random.int(40), memory));
    for (let i = 0; i < 6_000; i++) {
      const collection = random.pick(collections);
      const slots = [...collection.rows.keys()];
      if (slots.length > 0 && random.next() < 0.2) collection.release(random.pick(slots));
      else collection.insert(randomVector(random, collection.dimension, 2 ** 20));
    }
    for (const collection of collections) {
      await collection.check(randomVector(random, collection.dimension, 2 ** 20), 5);
      for (const [slot, { vector }] of collection.rows)
        expect(collection.vectors.vectorBytes(slot)).to.deep.equal(bytesOf(vector));
    }
    expect(memory.usedBytes).to.equal(collections.reduce((sum, { vectors }) => sum + vectors.bytes, 0));
    for (const { vectors } of collections) vectors.destroy();
    expect(memory.usedBytes).to.equal(0);
  });

  it('shows a collection no row of another that used it before', async () => {
    const memory = new VectorMemory();
    for (let round = 0; round < 3; round++) {
      const collection = new Modelled(random.pick([2, 6, 8]), memory);
      for (let i = 0; i < 500; i++) collection.insert(randomVector(random, collection.dimension, 2 ** 31));
      await collection.check(new Int32Array(collection.dimension), 600);
      collection.vectors.destroy();
    }
  });

  it('releases a large arena with its last block', () => {
    const memory = new VectorMemory();
    const vectors = new VectorBlocks(memory, 8_192);
    vectors.reserve(Math.ceil((70 * MIB) / (32 * KIB)));
    expect(memory.grownBytes).to.be.at.least(70 * MIB);
    vectors.destroy();
    expect(memory.grownBytes).to.equal(0);
  });
});
