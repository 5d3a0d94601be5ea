// Covers: shard/metadata/metadataObject.ts, shard/metadata/numberColumn.ts, shard/metadata/pathIndex.ts
// Covers: shard/metadata/posting.ts, shard/metadata/selected.ts, shard/metadata/selection.ts
// Covers: shard/metadata/sortedTerms.ts, shard/metadata/writtenSlots.ts
/** Results of the metadata index, compared with a plain evaluation of every record's metadata. */
import { expect } from 'chai';
import { filterOf } from '../../../../coordinator/contract/filter.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { type IndexOptions, MetadataIndex } from '../../../../shard/metadata/metadataIndex.js';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import type { Filter, Json, Test } from '../../../../shared/model/filter.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { matches } from '../../../support/model/filter.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';

type JsonObject = { readonly [key: string]: Json };

const SLOTS = 400;
const STEPS = 1_500;
const LONG = 'a long string whose beginning says nothing about what comes further on '.repeat(2);

/** Records by slot, their metadata as bytes, and the index over them. */
class Indexed {
  readonly index: MetadataIndex;
  readonly #stored = new Map<number, Uint8Array>();
  readonly #values = new Map<number, Json>();

  constructor(dimension = 700, options: IndexOptions = {}) {
    this.index = new MetadataIndex(new BlockShape(dimension), (slot) => this.#stored.get(slot) ?? null, options);
  }

  get slots(): number[] {
    return [...this.#values.keys()];
  }

  set(slot: number, value: Json): void {
    this.setBytes(slot, Buffer.from(JSON.stringify(value)));
    this.#values.set(slot, value);
  }

  setBytes(slot: number, bytes: Uint8Array): void {
    this.index.set(slot, bytes);
    this.#stored.set(slot, bytes);
  }

  remove(slot: number): void {
    this.index.remove(slot);
    this.#stored.delete(slot);
    this.#values.delete(slot);
  }

  /** Writes a record in steps: a new one, or new metadata of an existing one. */
  *setInSteps(slot: number, value: Json): Generator<undefined> {
    const bytes = Buffer.from(JSON.stringify(value));
    const happen = (): void => {
      this.#stored.set(slot, bytes);
      this.#values.set(slot, value);
    };
    if (this.#values.has(slot)) {
      yield* this.index.update(slot, bytes, happen);
      return;
    }
    yield* this.index.prepare(slot, bytes);
    this.index.show(slot, bytes);
    happen();
  }

  *removeInSteps(slot: number): Generator<undefined> {
    this.index.hide(slot);
    this.#values.delete(slot);
    yield* this.index.clear(slot);
    this.#stored.delete(slot);
  }

  found(filter: JsonObject, slice = new Slice(systemClock)): Promise<number[]> {
    return this.foundBy(filterOf(filter), slice);
  }

  async foundBy(filter: Filter, slice = new Slice(systemClock)): Promise<number[]> {
    const set = (await this.index.select(filter, slice))();
    const slots = Array.from({ length: 2 * SLOTS }, (_, slot) => slot).filter((slot) => set.has(slot));
    expect(set.count, 'count').to.equal(slots.length);
    return slots;
  }

  expected(filter: JsonObject): number[] {
    const matching = [...this.#values].filter(([, value]) => matches(filter, value));
    return matching.map(([slot]) => slot).sort((a, b) => a - b);
  }

  async check(filter: JsonObject): Promise<void> {
    expect(await this.found(filter), JSON.stringify(filter)).to.deep.equal(this.expected(filter));
  }
}

/** Draws metadata and filters from so few keys and values that they often match. */
class Draws {
  constructor(readonly random: SeededRandom) {}

  value(depth = 2): Json {
    const { random } = this;
    const scalars: Json[] = [0, -0, 1, 1.0, -2.5, 3, 1e300, 'a', 'b', '', 'é', '日本', true, false, null];
    const kind = random.int(depth === 0 ? 10 : 14);
    if (kind < 7) return random.pick(scalars);
    if (kind === 7) return random.int(50);
    if (kind === 8) return `${random.pick(['', LONG, LONG.toUpperCase()])}${random.int(6)}`;
    if (kind === 9) return random.int(1000) / 8;
    if (kind < 12) return Array.from({ length: random.int(4) }, () => this.value(depth - 1));
    return this.object(depth - 1);
  }

  object(depth = 3): JsonObject {
    const keys = ['a', 'b', 'c', 'd'].filter(() => this.random.next() < 0.5);
    if (this.random.next() < 0.5) keys.reverse();
    return Object.fromEntries(keys.map((key) => [key, this.value(depth)]));
  }

  condition(): Json {
    const { random } = this;
    const bound = random.pick<Json>([0, 1, 2.5, 40, 'a', 'b', 'a long', LONG, `${LONG}3`, '', -0, '日']);
    const several = Array.from({ length: random.pick([0, 1, 3, 12]) }, () => this.value(1));
    return random.pick<() => Json>([
      () => ({ eq: this.value() }),
      () => ({ ne: this.value() }),
      () => ({ [random.pick(['gt', 'gte', 'lt', 'lte'])]: bound }),
      () => ({ gte: bound, lt: random.pick<Json>([5, 60, 'c', `${LONG}5`]) }),
      () => ({ [random.pick(['in', 'nin'])]: several }),
      () => ({
        prefix: random.pick(['', 'a', 'b', 'a long', LONG.slice(0, 32), LONG.slice(0, 33), LONG, `${LONG}1`, '日']),
      }),
      () => ({ contains: random.pick(['', 'a', 'string', 'whose beginning', 'further on 3', '日', 'none of it']) }),
      () => ({ exists: random.next() < 0.5 }),
    ])();
  }

  filter(depth = 2): JsonObject {
    const kind = depth === 0 ? 3 : this.random.int(8);
    if (kind === 0) return { $not: this.filter(depth - 1) };
    if (kind <= 2) {
      const parts = Array.from({ length: 1 + this.random.int(3) }, () => this.filter(depth - 1));
      return { [kind === 1 ? '$or' : '$and']: parts };
    }
    const path = this.random.pick(['a', 'b', 'c', 'd', 'a.b', 'b.a', 'a.c.d', 'c.b.a', 'none']);
    return { [path]: this.condition() };
  }
}

/** A clock that advances so fast that every slice ends after its first step. */
const alwaysDue = (): Clock => {
  let ms = 0;
  return { ...systemClock, nowMs: () => 0, monotonicMs: () => (ms += 10) };
};

async function wander(indexed: Indexed, draws: Draws, check: () => Promise<void>): Promise<void> {
  const { random } = draws;
  for (let step = 0; step < STEPS; step++) {
    const slot = random.int(random.pick([40, SLOTS]));
    const kind = random.int(10);
    if (kind < 6) indexed.set(slot, draws.object());
    else if (kind < 8) indexed.remove(slot);
    else if (kind === 8) indexed.set(slot, draws.value());
    if (step % 3 === 0) await check();
  }
}

describe('the metadata index', () => {
  for (const { name, dimension, pathsMax } of [
    { name: 'small blocks', dimension: 9_000, pathsMax: undefined },
    { name: 'large blocks', dimension: 3, pathsMax: undefined },
    { name: 'more paths than are indexed', dimension: 700, pathsMax: 3 },
  ])
    it(`finds the matching records after random changes (${name})`, async () => {
      const draws = new Draws(seededRandom(testSeed()));
      const indexed = new Indexed(dimension, pathsMax === undefined ? {} : { pathsMax });
      await wander(indexed, draws, () => indexed.check(draws.filter()));
      for (const slot of indexed.slots) indexed.remove(slot);
      expect(await indexed.found({})).to.deep.equal([]);
    });

  it('yields within a condition, and selects a record by its state at the end', async () => {
    const draws = new Draws(seededRandom(testSeed()));
    for (const pathsMax of [10_000, 3]) {
      // Every step yields, so a write happens between any two steps.
      const indexed = new Indexed(700, { pathsMax, stepWork: 1 });
      for (let slot = 0; slot < SLOTS; slot++) indexed.set(slot, draws.object());
      for (let round = 0; round < 60; round++) {
        const filter = { $or: Array.from({ length: 6 }, () => draws.filter(1)) };
        let isOver = false;
        let turns = 0;
        const writeOn = (): void => {
          if (isOver) return;
          turns++;
          const slot = draws.random.int(SLOTS);
          if (turns % 3 === 0) indexed.remove(slot);
          else indexed.set(slot, draws.object());
          // A new record takes a slot beyond the existing ones.
          indexed.set(SLOTS + (turns % SLOTS), draws.object());
          setImmediate(writeOn);
        };
        setImmediate(writeOn);
        const found = await indexed.found(filter, new Slice(alwaysDue()));
        isOver = true;
        expect(found, JSON.stringify(filter)).to.deep.equal(indexed.expected(filter));
        expect(turns, 'turns of the event loop').to.be.at.least(6);
      }
    }
  });

  it('selects a record that is written in steps by its state at the end', async () => {
    const draws = new Draws(seededRandom(testSeed()));
    for (const pathsMax of [10_000, 3]) {
      const indexed = new Indexed(700, { pathsMax, stepWork: 1 });
      for (let slot = 0; slot < SLOTS; slot += 2) indexed.set(slot, draws.object());
      const changes = (function* (): Generator<undefined> {
        for (;;) {
          const slot = draws.random.int(SLOTS);
          const kind = draws.random.int(4);
          yield* kind === 0
            ? indexed.removeInSteps(slot)
            : indexed.setInSteps(slot, kind < 3 ? draws.object() : draws.value());
          yield;
        }
      })();
      for (let round = 0; round < 400; round++) {
        for (let steps = draws.random.int(9); steps > 0; steps--) changes.next();
        await indexed.check(draws.filter());
        const slice = new Slice(alwaysDue());
        const rest = slice.next.bind(slice);
        slice.next = () => {
          changes.next();
          return rest();
        };
        const filter = draws.filter();
        const found = await indexed.found(filter, slice);
        expect(found, JSON.stringify(filter)).to.deep.equal(indexed.expected(filter));
      }
    }
  });

  it('gives equal answers to equivalent filters', async () => {
    const draws = new Draws(seededRandom(testSeed()));
    const indexed = new Indexed();
    const same = async (one: JsonObject, other: JsonObject): Promise<void> => {
      expect(await indexed.found(one), `${JSON.stringify(one)} and ${JSON.stringify(other)}`).to.deep.equal(
        await indexed.found(other),
      );
    };
    await wander(indexed, draws, async () => {
      const [f, g] = [draws.filter(), draws.filter()];
      const [value, other] = [draws.value(), draws.value()];
      const path = draws.random.pick(['a', 'b.a', 'c']);
      await same({ $not: { $and: [f, g] } }, { $or: [{ $not: f }, { $not: g }] });
      await same({ $not: { $or: [f, g] } }, { $and: [{ $not: f }, { $not: g }] });
      await same({ $not: { $not: f } }, f);
      await same({ $and: [f, {}] }, { $or: [f, f] });
      await same({ $and: [f, g] }, { $and: [g, f] });
      await same({ [path]: { in: [value, other] } }, { $or: [{ [path]: { eq: value } }, { [path]: { eq: other } }] });
      await same({ [path]: { nin: [value, other] } }, { [path]: { ne: value }, $and: [{ [path]: { ne: other } }] });
      await same({ [path]: { ne: value } }, { $not: { [path]: { eq: value } } });
      await same({ [path]: { gte: 2 } }, { $or: [{ [path]: { gt: 2 } }, { [path]: 2 }] });
      await same({ [path]: { lte: LONG } }, { $or: [{ [path]: { lt: LONG } }, { [path]: LONG }] });
      await same({ [path]: { gt: -1e308 } }, { $or: [{ [path]: { gt: 3 } }, { [path]: { lte: 3 } }] });
      await same({ [path]: { exists: false } }, { [path]: { nin: [] }, $not: { [path]: { exists: true } } });
    });
  });

  it('finds ranges among thousands of strings', async () => {
    const random = seededRandom(testSeed());
    const indexed = new Indexed(3);
    const terms = (): Json => Array.from({ length: 12 }, () => `${random.pick(['', LONG])}${random.int(6_000)}`);
    for (let slot = 0; slot < SLOTS; slot++) indexed.set(slot, { tags: terms(), at: String(10_000 + slot) });
    for (let i = 0; i < SLOTS; i++) {
      indexed.remove(random.int(SLOTS));
      indexed.set(random.int(SLOTS), { tags: terms() });
    }
    for (let i = 0; i < 100; i++) {
      const [low, high] = [`${random.int(7_000)}`, `${random.pick(['', LONG])}${random.int(7_000)}`];
      await indexed.check({ tags: { gte: low } });
      await indexed.check({ tags: { gt: high } });
      await indexed.check({ tags: { lt: high } });
      await indexed.check({ tags: { lte: low } });
      await indexed.check({ tags: low });
      await indexed.check({ at: { gte: String(10_000 + random.int(SLOTS)), lt: String(10_000 + random.int(SLOTS)) } });
    }
  });

  it('indexes only metadata that is a JSON object', async () => {
    const indexed = new Indexed();
    const nested = (levels: number): string => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;
    for (const [slot, text] of ['{}', '[]', '1', 'null', '"{}"', '{', '', nested(64), nested(65)].entries())
      indexed.setBytes(slot, Buffer.from(text));
    indexed.index.set(20, null);
    expect(await indexed.found({})).to.deep.equal([0, 7]);
    expect(await indexed.found({ a: { exists: false } })).to.deep.equal([0]);
    expect(await indexed.found({ $not: { a: { exists: true } } })).to.deep.equal([0]);
  });

  it('finds keys that are empty, contain dots, or are names of prototypes', async () => {
    const indexed = new Indexed();
    const texts = ['{"a.b": 1}', '{"a": {"b": 1}}', '{"": 1}', '{"__proto__": {"x": 1}}', '{"constructor": 1}', '{}'];
    for (const [slot, text] of texts.entries()) indexed.setBytes(slot, Buffer.from(text));
    expect(await indexed.found({ 'a.b': 1 })).to.deep.equal([0, 1]);
    expect(await indexed.found({ '': 1 })).to.deep.equal([2]);
    expect(await indexed.found(JSON.parse('{"__proto__": {"exists": true}}'))).to.deep.equal([3]);
    expect(await indexed.found({ '__proto__.x': 1 })).to.deep.equal([3]);
    expect(await indexed.found({ constructor: { exists: true } } as unknown as JsonObject)).to.deep.equal([4]);
    expect(await indexed.found({ toString: { exists: false } } as unknown as JsonObject)).to.have.length(6);
  });

  it('distinguishes numbers and long strings to the last bit', async () => {
    const indexed = new Indexed();
    const tail = 'x'.repeat(200);
    const values: Json[] = [0.1 + 0.2, 0.3, 1e308, 5e-324, 0, `${tail}1`, `${tail}2`, `${tail}\ud800`, `${tail}\ud801`];
    for (const [slot, value] of values.entries()) indexed.set(slot, { v: value });
    const foundBy = (test: Test): Promise<number[]> => indexed.foundBy({ op: 'test', path: ['v'], test });
    for (const [slot, value] of values.entries()) expect(await foundBy({ kind: 'eq', value })).to.deep.equal([slot]);
    indexed.setBytes(9, Buffer.from('{"v": 1e999}'));
    expect(await indexed.found({ v: { gt: Number.MAX_VALUE } })).to.deep.equal([9]);
    expect(await indexed.found({ v: { gt: 0, lte: 0.3 } })).to.deep.equal([1, 3]);
    expect(await indexed.found({ v: { lt: 5e-324 } })).to.deep.equal([4]);
    expect(await indexed.found({ v: { gt: `${tail}1` } })).to.deep.equal([6, 7, 8]);
    expect(await indexed.found({ v: { prefix: 'xx' } })).to.deep.equal([5, 6, 7, 8]);
    expect(await foundBy({ kind: 'prefix', value: `${tail}\ud800` })).to.deep.equal([7]);
    expect(await indexed.found({ v: { contains: 'x2' } })).to.deep.equal([6]);
  });

  it('releases memory when records are removed', async () => {
    const indexed = new Indexed(4);
    const empty = indexed.index.bytes;
    for (let slot = 0; slot < SLOTS; slot++)
      indexed.set(slot, { id: `record ${slot}`, tags: ['x', `t${slot % 7}`], n: slot });
    expect(indexed.index.bytes).to.be.within(50 * SLOTS, 400 * SLOTS);
    for (let slot = 0; slot < SLOTS; slot++) indexed.remove(slot);
    expect(indexed.index.bytes).to.be.below(empty + SLOTS);
  });
});
