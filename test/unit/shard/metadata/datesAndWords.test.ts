// Covers: shard/metadata/textSelection.ts
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { type IndexOptions, MetadataIndex } from '../../../../shard/metadata/metadataIndex.js';
import { TextIndex } from '../../../../shard/text/textIndex.js';
import { systemClock } from '../../../../shared/clock.js';
import type { Json } from '../../../../shared/model/filter.js';
import { Slice, type Steps } from '../../../../shared/scheduling/slice.js';
import { matches } from '../../../support/model/filter.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const RECORDS = 300;
const ROUNDS = 250;
const ORDERS = ['gt', 'gte', 'lt', 'lte'] as const;

/** A slice that is used up from the start. */
class Short extends Slice {
  override get due(): boolean {
    return true;
  }
}

interface Written {
  readonly bytes: Buffer | null;
  readonly text: string | null;
}

const inTurns = async (steps: Steps<void>): Promise<void> => {
  while (!steps.next().done) await new Promise(setImmediate);
};

/** Records by slot, their metadata and texts, and the indexes over both. */
class Indexed {
  readonly index = new TextIndex((slot) => slot);
  readonly metadata: MetadataIndex;
  readonly #stored = new Map<number, Buffer | null>();
  readonly #texts = new Map<number, string>();
  /** Slots of replaced records that are being cleared. */
  readonly #clearing = new Set<number>();

  constructor(options: IndexOptions) {
    const textOf = (slot: number): Buffer | null =>
      this.#texts.has(slot) ? Buffer.from(this.#texts.get(slot)!) : null;
    const texts = { index: this.index, textOf };
    this.metadata = new MetadataIndex(new BlockShape(700), (slot) => this.#stored.get(slot) ?? null, {
      ...options,
      texts,
    });
  }

  get slots(): number[] {
    return [...this.#stored.keys()];
  }

  /** Replaces the record at once; null: removes it. */
  write(slot: number, written: Written | null): void {
    this.metadata.remove(slot);
    this.index.remove(slot);
    this.#forget(slot);
    if (written === null) return;
    const { bytes, text } = written;
    if (bytes !== null || text !== null) this.metadata.set(slot, bytes);
    this.#keep(slot, written);
    if (text !== null) this.index.add(slot, Buffer.from(text));
  }

  /** Replaces a record by one at another slot, in steps, as a shard does with large records. */
  async writeLarge(slot: number, free: number, written: Written): Promise<void> {
    const { bytes, text } = written;
    if (bytes !== null) await inTurns(this.metadata.prepare(free, bytes));
    if (text !== null) await inTurns(this.index.prepare(free, Buffer.from(text)));
    this.#keep(free, written);
    if (bytes !== null || text !== null) this.metadata.show(free, bytes);
    if (text !== null) this.index.show(free);
    this.metadata.hide(slot);
    this.index.hide(slot);
    this.#clearing.add(slot);
    await inTurns(this.metadata.clear(slot));
    await inTurns(this.index.clear(slot));
    this.#forget(slot);
    this.#clearing.delete(slot);
  }

  /** Slots of the records that the model selects. */
  matching(asked: { readonly [key: string]: Json }): number[] {
    return this.slots.filter((slot) => {
      const bytes = this.#stored.get(slot) ?? null;
      const object = bytes === null ? undefined : JSON.parse(bytes.toString());
      return !this.#clearing.has(slot) && matches(asked, object, this.#texts.get(slot) ?? null);
    });
  }

  #keep(slot: number, { bytes, text }: Written): void {
    this.#stored.set(slot, bytes);
    if (text !== null) this.#texts.set(slot, text);
  }

  #forget(slot: number): void {
    this.#stored.delete(slot);
    this.#texts.delete(slot);
  }
}

for (const [title, options] of [
  ['an index', {}],
  ['an index in steps of little work', { stepWork: 500 }],
  ['a scan of metadata', { pathsMax: 0 }],
] satisfies [string, IndexOptions][])
  describe(`a filter of dates and words, by ${title}`, () => {
    const random = seededRandom(testSeed());
    const twoDigits = (n: number): string => String(n).padStart(2, '0');
    const date = (): string => {
      const day = random.pick([
        '2026-01-28',
        '2026-01-31',
        '2026-02-01',
        '2026-02-30',
        '2026-02',
        '9999-12-31',
        '0000-01-01',
      ]);
      const zone = random.pick(['', 'Z', '+02', '-23:59', '+2359']);
      const time = `${twoDigits(random.int(24))}:${random.pick(['00', '30'])}${random.pick(['', ':05', ':05.5'])}`;
      return random.pick([day, day, `${day}T${time}${zone}`, `${day}T${time}${zone}`, `${day} ${time}`, 'soon', '']);
    };
    const WORDS = ['red', 'Green', 'blue', 'x1', 'fish'];
    const text = (most: number): string =>
      Array.from({ length: random.int(most + 1) }, () => random.pick(WORDS)).join(random.pick([' ', ', ']));
    const words = (): Json => ({ words: { [random.pick(['all', 'any', 'phrase'])]: text(3) } });
    const value = (): Json =>
      random.pick([date, date, () => text(5), () => text(60), () => [date(), text(2)], () => 3])();
    const filter = (depth = 2): { [key: string]: Json } => {
      if (depth > 0 && random.int(3) === 0)
        return random.pick([
          () => ({ $not: filter(depth - 1) }),
          () => ({ $or: [filter(depth - 1), filter(depth - 1)] }),
          () => ({ $and: [filter(depth - 1), filter(depth - 1)] }),
        ])();
      return random.pick<() => { [key: string]: Json }>([
        () => ({ a: { [random.pick(ORDERS)]: date() } }),
        () => ({ a: { [random.pick(ORDERS)]: date(), ne: date() } }),
        () => ({ a: words() }),
        () => ({ $text: words() }),
      ])();
    };

    const record = (): Written => ({
      bytes: random.int(5) === 0 ? null : Buffer.from(JSON.stringify({ a: value() })),
      text: random.int(3) === 0 ? null : text(6),
    });

    it('selects the records that the model selects, also during writes', async () => {
      const indexed = new Indexed(options);
      const write = (slot: number): void => indexed.write(slot, random.int(10) === 0 ? null : record());
      for (let slot = 0; slot < RECORDS; slot++) write(slot);
      for (let round = 0; round < ROUNDS; round++) {
        const asked = filter();
        const replaced = random.int(RECORDS);
        const large = indexed.writeLarge(replaced, RECORDS + round, record());
        const selecting = indexed.metadata.select(filterOf(asked), new Short(systemClock));
        for (let i = 0; i < 5; i++) {
          write((replaced + 1 + random.int(RECORDS - 1)) % RECORDS);
          await new Promise(setImmediate);
        }
        if (random.int(2) === 0) await large;
        const found = (await selecting)();
        const wanted = indexed.matching(asked);
        const selected = indexed.slots.filter((slot) => found.has(slot));
        expect(selected, JSON.stringify(asked)).to.deep.equal(wanted);
        expect(found.count).to.equal(wanted.length);
        await large;
      }
    });
  });
