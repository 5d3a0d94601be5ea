import { expect } from 'chai';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { type IndexOptions, MetadataIndex } from '../../../../shard/metadata/metadataIndex.js';
import { facets } from '../../../../shard/records/facets.js';
import type { Clock } from '../../../../shared/clock.js';
import type { Json } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const RECORDS = 9_000;
const LONG = 'l'.repeat(200);
const VALUES: readonly Json[] = [null, true, 1, 2.5, 'a', 'b', LONG, [1, 'a', LONG], {}, [], [[1]], 'rare'];

/** A clock by which each slice is used up, so that the work yields wherever it can. */
const hurried = (): Clock => {
  let ms = 0;
  return { nowMs: () => 0, monotonicMs: () => (ms += 10) };
};

describe('the values of a metadata key', () => {
  const random = seededRandom(testSeed());

  const collection = (options: IndexOptions = {}) => {
    const stored = new Map<number, Uint8Array>();
    const index = new MetadataIndex(new BlockShape(4), (slot) => stored.get(slot) ?? null, options);
    const set = (slot: number, value: Json): void => {
      const bytes = Buffer.from(JSON.stringify({ first: 1, v: value }));
      index.set(slot, bytes);
      stored.set(slot, bytes);
    };
    const kept = Array.from({ length: RECORDS }, (_, i) => (i < 3 ? 'rare' : VALUES[i % (VALUES.length - 1)]!));
    for (const [slot, value] of kept.entries()) set(slot, value);
    const swap = (): void => {
      const [one, other] = [random.int(RECORDS), random.int(RECORDS)];
      [kept[one], kept[other]] = [kept[other]!, kept[one]!];
      set(one, kept[one]!);
      set(other, kept[other]!);
    };
    const counted = () => {
      const counts = new Map<string, number>();
      for (const value of kept)
        for (const each of new Set(Array.isArray(value) ? (value as Json[]) : [value]))
          if (typeof each !== 'object' || each === null)
            counts.set(JSON.stringify(each), (counts.get(JSON.stringify(each)) ?? 0) + 1);
      return counts;
    };
    return { index, swap, counted };
  };

  for (const [title, options] of [
    ['an indexed path', { stepWork: 20_000 }],
    ['a path that is read from the metadata', { stepWork: 20_000, pathsMax: 1 }],
  ] as const)
    it(`are counted as at one moment, ${title}, in spite of concurrent writes`, async () => {
      const { index, swap, counted } = collection(options);
      const expected = counted();
      const call = { op: 'facets', key: 'v', limit: 100, maxBytes: 1 << 20 } as const;
      let isOver = false;
      // Records exchange their values, so that the counts stay constant between turns of the event loop.
      const writing = (async () => {
        while (!isOver) {
          swap();
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      try {
        for (let round = 0; round < 3; round++) {
          const found = await facets(index, call, new Slice(hurried()));
          expect(Object.fromEntries(found.values.map((value, i) => [value, found.counts[i]]))).to.deep.equal(
            Object.fromEntries(expected),
          );
          expect([found.distinct, found.records]).to.deep.equal([expected.size, RECORDS]);
        }
      } finally {
        isOver = true;
        await writing;
      }
    });

  it('are refused if they are larger than an answer', async () => {
    const { index } = collection();
    const call = { op: 'facets', key: 'v', limit: 100, maxBytes: 100 } as const;
    const refusal = await facets(index, call, new Slice(hurried())).catch((error: unknown) => error);
    expect(refusal).to.include({ code: 'validation_error' });
  });
});
