// Covers: shard/metadata/metadataIndex.ts, shard/metadata/recordFilter.ts, shard/metadata/effort.ts
// Covers: shard/records/facets.ts
/** Work in one turn of the event loop, for the worst records within the limits. */
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { STEP_WORK, WORK } from '../../../../shard/metadata/effort.js';
import { MetadataIndex } from '../../../../shard/metadata/metadataIndex.js';
import { RecordWork } from '../../../../shard/metadata/recordFilter.js';
import { facets } from '../../../../shard/records/facets.js';
import { PLAIN } from '../../../../shard/text/analyser.js';
import type { Clock } from '../../../../shared/clock.js';
import type { Json } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { collidingNumbers } from '../../../support/collidingNumbers.js';
import { keysOfMaps } from '../../../support/keysOfMaps.js';

const METADATA_BYTES = 65_536;
const PATHS = 6_000;
/** Length of the longest strings whose characters V8 hashes. */
const HASHED_CHARS_MAX = 16_383;

/** An index that works in slices of one step. Counts the bytes of metadata that are read in each turn of the event loop. */
class Watched {
  readonly index: MetadataIndex;
  readonly #stored = new Map<number, Buffer>();
  readonly #readBytes: number[] = [0];

  constructor() {
    this.index = new MetadataIndex(new BlockShape(4), (slot) => {
      const stored = this.#stored.get(slot) ?? null;
      this.#readBytes[this.#readBytes.length - 1]! += stored?.length ?? 0;
      return stored;
    });
  }

  get slice(): Slice {
    let ms = 0;
    // `Slice.next` calls `nowMs` once, before it waits for a new turn.
    const clock: Clock = { nowMs: () => this.#readBytes.push(0), monotonicMs: () => (ms += 10) };
    return new Slice(clock);
  }

  set(slot: number, text: string): void {
    const bytes = Buffer.from(text);
    expect(bytes.length).to.be.at.most(METADATA_BYTES);
    this.index.set(slot, bytes);
    this.#stored.set(slot, bytes);
  }

  /** Runs the work. Returns its result, and the bytes read in each turn. */
  async turns<Result>(work: (slice: Slice) => Promise<Result>): Promise<{ bytes: number[]; result: Result }> {
    this.#readBytes.splice(0, Number.POSITIVE_INFINITY, 0);
    const result = await work(this.slice);
    return { bytes: [...this.#readBytes], result };
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

/** The metadata of a record, with thousands of paths that no other record has, and two that all have. */
const wide = (slot: number): string => {
  const own = Array.from({ length: PATHS }, (_, i) => `"${slot.toString(36)}${i.toString(36)}":1`);
  return `{"n":${slot},"v":"${'l'.repeat(200)}${slot}",${own.join()}}`;
};

describe('a filter over large records', () => {
  it('reads at most one record in a turn, and each record once for all its conditions', async () => {
    const watched = new Watched();
    for (let slot = 0; slot < 12; slot++) watched.set(slot, wide(slot));
    const conditions = Array.from({ length: 64 }, (_, i) => ({
      $or: [{ [`none${i}`]: { in: [i, `${i}`] } }, { n: { gte: 3 } }],
    }));
    const { bytes, result } = await watched.turns((slice) =>
      watched.index.select(filterOf({ $and: conditions }), slice),
    );
    expect(result().count).to.equal(9);
    expect(Math.max(...bytes)).to.be.at.most(METADATA_BYTES);
    expect(sum(bytes)).to.be.at.most(12 * METADATA_BYTES);
  });

  it('counts every byte of metadata once for each text of its `contains` or `prefix`', () => {
    const workOf = (condition: Json): number => {
      const texts = Array.from({ length: 16 }, (_, i) => ({ a: { [String(condition)]: `text ${i}` } }));
      return new RecordWork(filterOf({ $and: texts }), PLAIN).of(METADATA_BYTES);
    };
    const plain = workOf('eq');
    expect(workOf('contains') - plain).to.equal(16 * WORK.soughtByte * METADATA_BYTES);
    expect(workOf('prefix') - plain).to.equal(16 * WORK.begunByte * METADATA_BYTES);
  });

  it('reads at most two records in its last turn, whatever is written meanwhile', async () => {
    const watched = new Watched();
    for (let slot = 0; slot < 12; slot++) watched.set(slot, wide(slot));
    let written = 0;
    const { bytes, result } = await watched.turns(async (slice) => {
      const selecting = watched.index.select(filterOf({ none: { exists: false } }), slice);
      // Each of the first six turns also writes two large records.
      for (; written < 6; written++) {
        watched.set(written, wide(written + 20));
        watched.set(20 + written, wide(written));
        await new Promise((resolve) => setImmediate(resolve));
      }
      return selecting;
    });
    const lastBytes = sum((await watched.turns(async () => result())).bytes);
    expect(lastBytes).to.be.at.most(2 * METADATA_BYTES);
    expect(bytes.length).to.be.above(12);
  });

  it('finds at most 125 operands of a list, or reads 25,000 terms of a range, in a turn', async () => {
    const watched = new Watched();
    const terms = (from: number, count: number): string =>
      Array.from({ length: count }, (_, i) => `"t${from + i}"`).join();
    for (let slot = 0; slot < 20; slot++) watched.set(slot, `{"t":[${terms(5_000 * slot, 5_000)}]}`);
    const operands = Array.from({ length: 4_096 }, (_, i) => `t${i * 20}`);
    const listed = await watched.turns((slice) => watched.index.select(filterOf({ t: { in: operands } }), slice));
    expect(listed.result().count).to.equal(17);
    expect(STEP_WORK / WORK.find).to.equal(125);
    expect(listed.bytes.length).to.be.at.least(4_096 / 125);
    const ranged = await watched.turns((slice) => watched.index.select(filterOf({ t: { gte: 't' } }), slice));
    expect(ranged.result().count).to.equal(20);
    expect(STEP_WORK / WORK.term).to.equal(25_000);
    expect(ranged.bytes.length).to.be.at.least(100_000 / 25_000);
  });
});

describe('a facet of an unindexed path', () => {
  it('reads at most one large record in a turn', async () => {
    const watched = new Watched();
    for (let slot = 0; slot < 12; slot++) watched.set(slot, wide(slot));
    const { bytes, result } = await watched.turns((slice) =>
      facets(watched.index, { op: 'facets', key: 'v', limit: 100, maxBytes: 1 << 20 }, slice),
    );
    expect(result.distinct).to.equal(12);
    expect(Math.max(...bytes)).to.be.at.most(METADATA_BYTES);
  });
});

describe('the keys of maps in the index of metadata', () => {
  const deep = (levels: number, inner: string): string => `${'{"level":'.repeat(levels)}${inner}${'}'.repeat(levels)}`;
  const short = Array.from({ length: 5_000 }, (_, i) => `"${i.toString(36)}":1`).join();
  const records = [
    `{"${'k'.repeat(1_000)}":{${short}}}`,
    `{"${'k'.repeat(25_000)}":{${short}}}`,
    deep(63, `{${short}}`),
    `{"${'7'.repeat(7)}":1,"1":["1234567","${'s'.repeat(40_000)}"]}`,
    `{"n":[${Array.from({ length: 5_000 }, (_, i) => i * 2 ** 20).join()}]}`,
    deep(40, `${`{"${'m'.repeat(1_000)}":`.repeat(20)}1${'}'.repeat(20)}`),
  ];

  it('are short strings, not only of digits, or numbers that no client chooses', async () => {
    const watched = new Watched();
    const long = 's'.repeat(40_000);
    const filter: { readonly [key: string]: Json } = {
      $or: [
        { n: { in: [2 ** 20, 2 ** 40] } },
        { '1': { in: ['1234567', long] } },
        { [`${'k'.repeat(1_000)}.1`]: 1 },
        { level: { a: [long] } },
      ],
    };
    const keys = await keysOfMaps(async () => {
      for (const [slot, text] of records.entries()) watched.set(slot, text);
      (await watched.index.select(filterOf(filter), watched.slice))();
      for (const key of ['n', '1'])
        await facets(
          watched.index,
          { op: 'facets', key, limit: 10, maxBytes: 1 << 20, filter: filterOf(filter) },
          watched.slice,
        );
      for (const slot of records.keys()) watched.set(slot, '{}');
    });
    expect(keys.filter((key) => typeof key === 'string' && key.length > HASHED_CHARS_MAX)).to.deep.equal([]);
    expect(keys.filter((key) => typeof key === 'string' && /^\d+$/.test(key))).to.deep.equal([]);
    expect(keys.filter((key) => typeof key === 'number' && key >= 2 ** 20)).to.deep.equal([]);
  });

  it('are not the numbers that a facet counts, which could share few buckets of a `Map`', async () => {
    const watched = new Watched();
    const numbers = collidingNumbers(49_152);
    for (let slot = 0; 4_096 * slot < numbers.length; slot++)
      watched.set(slot, `{"n":[${numbers.slice(4_096 * slot, 4_096 * (slot + 1)).join()}]}`);
    const chosen = new Set(numbers.filter((number) => number > 100_000));
    let distinct = 0;
    const keys = await keysOfMaps(async () => {
      const call = { op: 'facets', key: 'n', limit: 10, maxBytes: 1 << 20 } as const;
      distinct = (await facets(watched.index, call, watched.slice)).distinct;
    });
    expect(distinct).to.equal(49_152);
    expect(keys.filter((key) => typeof key === 'number' && chosen.has(key))).to.deep.equal([]);
  });
});
