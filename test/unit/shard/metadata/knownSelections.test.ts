/** Selections that are kept for later searches with an equal filter. Records that were written since are judged again. */
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { BitSet } from '../../../../shard/kernel/bitSet.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { KnownSelections, keyOf } from '../../../../shard/metadata/knownSelections.js';
import { MetadataIndex } from '../../../../shard/metadata/metadataIndex.js';
import { RecordWork } from '../../../../shard/metadata/recordFilter.js';
import { WrittenSlots } from '../../../../shard/metadata/writtenSlots.js';
import { PLAIN } from '../../../../shard/text/analyser.js';
import { systemClock } from '../../../../shared/clock.js';
import type { Json } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

type Asked = { readonly [key: string]: Json };

class Kept {
  readonly #stored = new Map<number, Buffer>();
  readonly index = new MetadataIndex(new BlockShape(4), (slot) => this.#stored.get(slot) ?? null);

  set(slot: number, metadata: Json): void {
    const bytes = Buffer.from(JSON.stringify(metadata));
    this.index.set(slot, bytes);
    this.#stored.set(slot, bytes);
  }

  remove(slot: number): void {
    this.index.remove(slot);
    this.#stored.delete(slot);
  }

  has = (slot: number): boolean => this.#stored.has(slot);

  begin = (filter: Asked) => this.index.select(filterOf(filter), new Slice(systemClock));

  async select(filter: Asked): Promise<number[]> {
    return [...(await this.begin(filter))()];
  }
}

describe('the kept selection of a filter', () => {
  let kept: Kept;
  beforeEach(() => {
    kept = new Kept();
    for (let slot = 0; slot < 10; slot++) kept.set(slot, { even: slot % 2 === 0, n: slot });
  });

  it('is returned again until a record is written', async () => {
    const first = (await kept.begin({ even: true }))();
    expect([...first]).to.deep.equal([0, 2, 4, 6, 8]);
    expect((await kept.begin({ even: true }))()).to.equal(first);
    expect(await kept.select({ even: false })).to.deep.equal([1, 3, 5, 7, 9]);
    kept.set(10, { even: false });
    expect((await kept.begin({ even: true }))()).not.to.equal(first);
  });

  it('includes every write before it is asked for', async () => {
    await kept.select({ even: true });
    kept.set(3, { even: true });
    expect(await kept.select({ even: true })).to.deep.equal([0, 2, 3, 4, 6, 8]);
    kept.remove(4);
    expect(await kept.select({ even: true })).to.deep.equal([0, 2, 3, 6, 8]);
    kept.set(6, { even: false });
    expect(await kept.select({ even: true })).to.deep.equal([0, 2, 3, 8]);
  });

  it('judges only the records that were written since, while that takes less than another selection', () => {
    const known = new KnownSelections();
    const written = new WrittenSlots(new RecordWork(undefined, PLAIN));
    const selection = { matching: BitSet.ofSize(0), slots: new SlotSet(new BlockShape(4)), work: 5_000, written };
    expect(known.keep('even', selection)).to.equal(selection.slots);
    for (const slot of [1, 2, 1]) known.wrote(slot, 10);
    expect([...known.of('even')!.written.taken()]).to.deep.equal([1, 2]);
    for (let slot = 0; slot < 5; slot++) known.wrote(slot, 10);
    expect(known.of('even')).to.equal(undefined);
  });

  it('includes every one of many writes', async () => {
    const random = seededRandom(testSeed());
    const evens = new Set([0, 2, 4, 6, 8]);
    for (let round = 0; round < 300; round++) {
      const slot = random.int(60);
      const even = random.next() < 0.5;
      if (random.next() < 0.2) kept.remove(slot);
      else kept.set(slot, { even });
      if (kept.has(slot) && even) evens.add(slot);
      else evens.delete(slot);
      if (random.next() < 0.5) continue;
      expect(await kept.select({ even: true })).to.deep.equal([...evens].sort((a, b) => a - b));
    }
  });

  it('includes the writes during the selection', async () => {
    const before = (await kept.begin({ even: true }))();
    const selected = kept.begin({ even: true });
    kept.set(1, { even: true });
    kept.remove(2);
    expect([...(await selected)()]).to.deep.equal([0, 1, 4, 6, 8]);
    expect([...before], 'another search may still read it').to.deep.equal([0, 2, 4, 6, 8]);
    expect(await kept.select({ even: true })).to.deep.equal([0, 1, 4, 6, 8]);
  });

  it('is dropped for those of eight later filters', async () => {
    const first = (await kept.begin({ n: 0 }))();
    for (let n = 1; n < 8; n++) await kept.select({ n });
    expect((await kept.begin({ n: 0 }))(), 'of eight').to.equal(first);
    for (let n = 1; n < 9; n++) await kept.select({ n });
    expect((await kept.begin({ n: 0 }))(), 'of nine').not.to.equal(first);
  });

  it('is not kept for a large filter, a test of texts, or an infinite number', () => {
    const key = (filter: Asked): string | undefined => keyOf(filterOf(filter));
    expect(key({ n: { $in: [1, 2] }, even: null })).to.be.a('string');
    expect(key({ n: { $in: Array.from({ length: 65 }, (_, n) => n) } })).to.equal(undefined);
    expect(key({ n: 'a'.repeat(257) })).to.equal(undefined);
    expect(key({ $or: Array.from({ length: 16 }, (_, n) => ({ n })) })).to.equal(undefined);
    expect(key({ $text: { $words: { all: 'a' } } })).to.equal(undefined);
    expect(keyOf({ op: 'test', path: ['n'], test: { kind: 'gt', value: Infinity } })).to.equal(undefined);
  });
});
