// Covers: shard/kernel/blockTable.ts
import { expect } from 'chai';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { bytesOf, Modelled, noPause, randomVector } from './kernelOracle.js';

describe('vector blocks', () => {
  const random = seededRandom(testSeed());

  it('number slots through all blocks without a gap', () => {
    for (const dimension of [1, 3, 4, 100, 128, 768, 4_096, 32_768]) {
      const shape = new BlockShape(dimension);
      let slot = 0;
      for (let index = 0; index < 40; index++) {
        expect(shape.firstSlot(index)).to.equal(slot);
        expect([shape.blockOf(slot), shape.blockOf(slot + shape.rows(index) - 1)]).to.deep.equal([index, index]);
        expect(shape.rows(index)).to.be.within(8, shape.rowsMax);
        slot += shape.rows(index);
      }
    }
  });

  it('return the bytes that were written, whatever their alignment was', () => {
    for (const dimension of [1, 2, 3, 4, 5, 129]) {
      const vectors = new VectorBlocks(new VectorMemory(), dimension);
      const written = Array.from({ length: 100 }, () => bytesOf(randomVector(random, dimension, 2 ** 31)));
      const slots = written.map((bytes, i) => {
        const shifted = new Uint8Array(bytes.length + 3);
        shifted.set(bytes, 3);
        const slot = vectors.acquire();
        vectors.write(slot, i + 1, shifted.subarray(3));
        return slot;
      });
      expect(slots.map((slot) => vectors.vectorBytes(slot))).to.deep.equal(written);
      expect(slots.map((slot) => vectors.idOf(slot))).to.deep.equal(written.map((_, i) => i + 1));
    }
  });

  it('show a row in searches between publish and retire', async () => {
    const vectors = new VectorBlocks(new VectorMemory(), 4);
    const found = async (): Promise<number> => (await vectors.search(new Int32Array(4), 1, noPause)).ids.length;
    const slot = vectors.acquire();
    vectors.write(slot, 1, new Uint8Array(16));
    expect([vectors.liveCount, await found()]).to.deep.equal([0, 0]);
    vectors.publish(slot);
    expect([vectors.liveCount, await found()]).to.deep.equal([1, 1]);
    vectors.retire(slot);
    expect([vectors.liveCount, await found()]).to.deep.equal([0, 0]);
    expect(vectors.vectorBytes(slot)).to.deep.equal(new Uint8Array(16));
  });

  it('erase a released row and reuse its slot', async () => {
    const collection = new Modelled(7);
    const slots = Array.from({ length: 30 }, () => collection.insert(randomVector(random, 7, 2 ** 31)));
    for (const slot of slots.slice(10, 20)) {
      collection.release(slot);
      expect([...collection.vectors.vectorBytes(slot)]).to.deep.equal(new Array(28).fill(0));
      expect(collection.vectors.idOf(slot)).to.equal(0);
    }
    const reused = Array.from({ length: 10 }, () => collection.insert(randomVector(random, 7, 2 ** 20)));
    expect(reused.sort((a, b) => a - b)).to.deep.equal(slots.slice(10, 20));
    await collection.check(randomVector(random, 7, 2 ** 20), 30);
  });

  it('refuse invalid vectors, slots and reservations', () => {
    const vectors = new VectorBlocks(new VectorMemory(), 4);
    const slot = vectors.acquire();
    expect(() => vectors.write(slot, 1, new Uint8Array(12))).to.throw('a vector of 12 bytes');
    vectors.publish(slot);
    expect(() => vectors.write(slot, 1, new Uint8Array(16))).to.throw('is live');
    expect(() => vectors.release(1_000)).to.throw('no row has slot');
    expect(() => vectors.retire(-1)).to.throw('no row has slot');
    vectors.destroy();
    expect(() => vectors.reserve(100)).to.throw('destroyed');
  });
});
