// Covers: shard/index/bq/codeScan.ts, shard/index/bq/codeBlocks.ts
import { expect } from 'chai';
import { CodeBlocks } from '../../../../../shard/index/bq/codeBlocks.js';
import { CodeScan } from '../../../../../shard/index/bq/codeScan.js';
import { SignCoder, signCodeBytes } from '../../../../../shard/kernel/signCodes.js';
import { SlotSet } from '../../../../../shard/kernel/slotSet.js';
import { type Region, VectorMemory } from '../../../../../shard/kernel/vectorMemory.js';
import { seededRandom, testSeed } from '../../../../support/model/random.js';
import { Modelled, randomVector } from '../../kernel/kernelOracle.js';
import { estimatesOf, leastEstimated } from './estimates.js';

const random = seededRandom(testSeed());

/** A collection and its codes, relative to a given mean. */
class Coded {
  readonly model: Modelled;
  readonly codes: CodeBlocks;
  readonly covered: SlotSet;
  readonly mean: Int32Array;
  readonly #coder: SignCoder;

  constructor(dimension: number, memory = new VectorMemory()) {
    this.model = new Modelled(dimension, memory);
    this.codes = new CodeBlocks(memory, this.model.vectors.shape, signCodeBytes(dimension));
    this.covered = new SlotSet(this.model.vectors.shape);
    this.mean = randomVector(random, dimension, 1_000);
    this.#coder = new SignCoder(dimension);
  }

  insert(vector: Int32Array): number {
    const slot = this.model.insert(vector);
    this.codes.write(slot, this.#coder.encode(vector, this.mean));
    this.covered.add(slot);
    return slot;
  }

  scan(query: Int32Array, wanted: number, eligible?: SlotSet): CodeScan {
    const { covered, codes } = this;
    const { vectors } = this.model;
    return new CodeScan({ vectors, covered, codes }, this.#coder.rotated(query, this.mean), wanted, eligible);
  }

  /** Result of a scan in one step. */
  found(query: Int32Array, wanted: number, eligible?: SlotSet): number[] {
    const scan = this.scan(query, wanted, eligible);
    while (!scan.step());
    const slots = [...scan.slots()];
    scan.close();
    return slots;
  }

  expected(query: Int32Array, wanted: number, eligible?: SlotSet): number[] {
    const among = [...this.model.rows].filter(
      ([slot, { live }]) => live && this.covered.has(slot) && (eligible?.has(slot) ?? true),
    );
    const vectors = among.map(([slot, { vector }]) => [slot, vector] as const);
    return leastEstimated(estimatesOf(vectors, query, this.mean), wanted);
  }
}

describe('a scan of bit codes', () => {
  for (const dimension of [1, 2, 3, 31, 32, 33, 100, 128, 129, 256, 768, 4_096]) {
    it(`finds the rows with the least estimates at ${dimension} dimensions`, () => {
      const coded = new Coded(dimension);
      const rows = Math.max(300, Math.min(4_000, Math.floor(400_000 / dimension)));
      for (let i = 0; i < rows; i++) coded.insert(randomVector(random, dimension, 2_000));
      for (const wanted of [1, 10, 200, rows, 2 * rows]) {
        const query = randomVector(random, dimension, 2_000);
        expect(coded.found(query, wanted)).to.deep.equal(coded.expected(query, wanted));
        const own = random.pick([...coded.model.rows.values()]).vector;
        expect(coded.found(own, wanted)).to.deep.equal(coded.expected(own, wanted));
      }
    });
  }

  it('estimates the distance of a row to itself exactly, and others better with more dimensions', () => {
    for (const [dimension, most] of [
      [64, 0.2],
      [1_024, 0.05],
    ] as const) {
      const mean = randomVector(random, dimension, 2 ** 20);
      const around = (): Int32Array => randomVector(random, dimension, 2 ** 18).map((value, i) => value + mean[i]!);
      const squares = (one: Int32Array, other: Int32Array): number =>
        one.reduce((sum, value, i) => sum + (value - other[i]!) ** 2, 0);
      const query = around();
      const rows = Array.from({ length: 200 }, (_, slot) => [slot, around()] as const);
      const errors = [...estimatesOf(rows, query, mean)].map(([slot, estimate]) => {
        const exact = squares(rows[slot]![1], query);
        return Math.abs(estimate + squares(query, mean) - exact) / exact;
      });
      expect(errors.reduce((sum, error) => sum + error, 0) / errors.length).to.be.below(most);
    }
  });

  it('considers only rows that are covered and eligible', () => {
    const coded = new Coded(40);
    for (let i = 0; i < 3_000; i++) coded.insert(randomVector(random, 40, 2_000));
    for (const slot of coded.model.rows.keys()) if (random.next() < 0.2) coded.covered.delete(slot);
    for (const share of [0, 0.001, 0.1, 0.9, 1]) {
      const eligible = new SlotSet(coded.model.vectors.shape);
      for (const slot of coded.model.rows.keys()) if (random.next() < share) eligible.add(slot);
      const query = randomVector(random, 40, 2_000);
      for (const wanted of [5, 200])
        expect(coded.found(query, wanted, eligible)).to.deep.equal(coded.expected(query, wanted, eligible));
    }
  });

  it('finds every row with the code of the query, whatever their number', () => {
    const coded = new Coded(256);
    const ends = [-5_000, 5_000].map((end) => new Int32Array(256).fill(end));
    const rows = coded.model.vectors.shape.rowsMax * 5;
    for (let i = 0; i < rows; i++) coded.insert(ends[random.int(10) === 0 ? 0 : 1]!);
    for (const query of ends) {
      expect(coded.found(query, 10)).to.deep.equal(coded.expected(query, 10));
    }
  });

  it('finds rows covered at its start, whatever is written while it pauses', () => {
    const coded = new Coded(24);
    for (let i = 0; i < 2_000; i++) coded.insert(randomVector(random, 24, 2_000));
    for (let round = 0; round < 10; round++) {
      const query = randomVector(random, 24, 2_000);
      const expected = coded.expected(query, 50);
      const scan = coded.scan(query, 50);
      while (!scan.step(1)) {
        const slot = random.pick([...coded.model.rows.keys()]);
        coded.covered.delete(slot);
        coded.model.release(slot);
        coded.insert(query);
      }
      expect([...scan.slots()]).to.deep.equal(expected);
      scan.close();
    }
  });

  it('reads codes in several arenas, separate from those of the vectors', () => {
    const memory = new VectorMemory({ arenaBytes: 1 << 21 });
    const coded = new Coded(200, memory);
    const insert = (rows: number): void => {
      for (let i = 0; i < rows; i++) coded.insert(randomVector(random, 200, 2_000));
    };
    insert(2_000);
    const { arena } = coded.codes.at(0);
    const others: Region[] = [];
    do others.push(memory.allocateBlock(1 << 14));
    while (others.at(-1)!.arena === arena);
    insert(4_000);
    const arenas = new Set(coded.model.vectors.blocks.map((_, index) => coded.codes.at(index).arena));
    expect(arenas.size).to.be.above(1);
    const query = randomVector(random, 200, 2_000);
    expect(coded.found(query, 300)).to.deep.equal(coded.expected(query, 300));
    coded.model.vectors.destroy();
    coded.codes.free();
    for (const region of others) memory.freeBlock(region);
    expect(memory.usedBytes).to.equal(0);
  });
});
