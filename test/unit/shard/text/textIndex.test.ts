// Covers: shard/text/bm25.ts, shard/text/documents.ts, shard/text/openTextQuery.ts, shard/text/postings.ts
// Covers: shard/text/scoreAccumulator.ts, shard/text/termSum.ts, shard/text/termWord.ts
import { expect } from 'chai';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { TextIndex } from '../../../../shard/text/textIndex.js';
import { systemClock } from '../../../../shared/clock.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { expectCode } from '../../../support/expectations.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { PlainTexts } from './textOracle.js';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Slot i contains record i + 1. */
function indexOf(...texts: readonly string[]): TextIndex {
  const index = new TextIndex((slot) => slot + 1);
  for (const [slot, text] of texts.entries()) index.add(slot, utf8(text));
  return index;
}

const NO_SLOTS = new Uint32Array(0);
const unhurried = (): Slice => new Slice(systemClock, Number.POSITIVE_INFINITY);

const scores = (index: TextIndex, query: string, slots: readonly number[]): number[] => {
  const matches = index.openQuery(query);
  matches.close();
  return slots.map((slot) => Number(matches.scoreOf(slot).toFixed(6)));
};

async function best(index: TextIndex, query: string, n: number, eligible?: SlotSet): Promise<number[]> {
  const matches = index.openQuery(query);
  try {
    return [...(await matches.best(n, eligible, NO_SLOTS, unhurried)).best.slots];
  } finally {
    matches.close();
  }
}

const isEmpty = (index: TextIndex, query: string): boolean => {
  const matches = index.openQuery(query);
  matches.close();
  return matches.isEmpty;
};

/** A clock by which each slice is used up at every reading. */
function restless(): () => number {
  let ms = 0;
  return () => (ms += 10);
}

describe('the text index', () => {
  it('scores by BM25', async () => {
    const index = indexOf('red apple', 'Green apple pie', 'blue sky');
    expect(scores(index, 'apple', [0, 1, 2])).to.deep.equal([0.502294, 0.416459, 0]);
    expect(scores(index, 'PIE', [0, 1, 2])).to.deep.equal([0, 0.869089, 0]);
    expect(scores(index, 'apple pie', [0, 1, 2])).to.deep.equal([0.502294, 1.285548, 0]);
    expect(await best(index, 'apple pie', 10)).to.deep.equal([1, 0]);
  });

  it('counts a repeated word of the query once', async () => {
    const index = indexOf('red apple', 'green apple pie', 'blue sky');
    expect(scores(index, 'apple Apple APPLE', [0, 1, 2])).to.deep.equal(scores(index, 'apple', [0, 1, 2]));
  });

  it('values a word more if a text repeats it, up to hundreds of times', async () => {
    const filled = (count: number): string => `${'a '.repeat(count)}${'b '.repeat(400 - count)}`;
    const index = indexOf(...[1, 14, 15, 16, 300].map(filled), 'c', 'c', 'c', 'c', 'c', 'c');
    expect(await best(index, 'a', 10)).to.deep.equal([4, 3, 2, 1, 0]);
    const matches = index.openQuery('a');
    const ratio = matches.scoreOf(4) / matches.scoreOf(0);
    const norm = 1.5 * (0.25 + (0.75 * 400) / (2_006 / 11));
    expect(ratio).to.be.closeTo((300 / (300 + norm)) * (1 + norm), 1e-9);
  });

  it('gives 0 to records without a text, and to all records for unknown words', async () => {
    const index = indexOf('red apple');
    const unknown = index.openQuery('nothing of it');
    expect(unknown.isEmpty).to.equal(true);
    expect([unknown.scoreOf(0), unknown.scoreOf(7), index.openQuery('red').scoreOf(7)]).to.deep.equal([0, 0, 0]);
    expect(await best(index, 'nothing of it', 3)).to.deep.equal([]);
    for (const wordless of ['', ' ?! ']) expect(isEmpty(index, wordless)).to.equal(true);
  });

  it('counts texts without words as documents', async () => {
    const index = indexOf('', '...', 'one', 'one two');
    expect(index.documents).to.equal(4);
    expect(index.averageLength).to.equal(0.75);
    expect([index.openQuery('one').scoreOf(0), index.openQuery('one').scoreOf(1)]).to.deep.equal([0, 0]);
    for (const slot of [0, 1, 2, 3]) index.remove(slot);
    expect(index.documents).to.equal(0);
    expect(isEmpty(index, 'one')).to.equal(true);
  });

  it('orders equal matches by record id, not by slot', async () => {
    const index = new TextIndex((slot) => [30, 10, 20][slot]!);
    for (const slot of [0, 1, 2]) index.add(slot, utf8('same words'));
    expect(await best(index, 'same', 3)).to.deep.equal([1, 2, 0]);
    expect(await best(index, 'same', 2)).to.deep.equal([1, 2]);
    expect(await best(index, 'same', 0)).to.deep.equal([]);
  });

  it('returns the best of the eligible records', async () => {
    const index = indexOf('a', 'a a', 'a a a', 'b');
    const eligible = new SlotSet(new BlockShape(4));
    for (const slot of [0, 1, 3]) eligible.add(slot);
    expect(await best(index, 'a', 1, eligible)).to.deep.equal([1]);
    expect(await best(index, 'a', 9, eligible)).to.have.members([0, 1]);
  });

  it('finds words in any script and spelling', async () => {
    const index = indexOf('Über die STRASSE', 'ΟΔΟΣ', '你好，世界', 'cafe\u0301 👍', 'Nr. 42');
    const found = (query: string): Promise<number[]> => best(index, query, 9);
    expect(await found('über')).to.deep.equal([0]);
    expect(await found('οδος')).to.deep.equal([1]);
    expect(await found('世界')).to.deep.equal([2]);
    expect(await found('CAFÉ')).to.deep.equal([3]);
    expect(await found('👍')).to.deep.equal([]);
    expect(await found('42')).to.deep.equal([4]);
  });

  it('stores texts of 64 KiB, of one word and of thousands', async () => {
    const long = 'x'.repeat(65_536);
    const many = Array.from({ length: 9_000 }, (_, i) => `w${i}`).join(' ');
    const index = indexOf(long, many, 'a '.repeat(32_768), 'w17');
    expect(await best(index, long, 9)).to.deep.equal([0]);
    expect(await best(index, 'w17', 9)).to.deep.equal([3, 1]);
    expect(await best(index, 'w8999', 9)).to.deep.equal([1]);
    expect(await best(index, 'a', 9)).to.deep.equal([2]);
    index.remove(1);
    expect(await best(index, 'w17', 9)).to.deep.equal([3]);
    expect(isEmpty(index, 'w8999')).to.equal(true);
  });

  it('shows the texts as they were when a query was opened', async () => {
    const index = indexOf('a', 'a b', 'c');
    const matches = index.openQuery('a z');
    const before = [0, 1, 2, 3].map((slot) => matches.scoreOf(slot));
    index.remove(1);
    index.remove(0);
    index.add(3, utf8('z a a'));
    expect([0, 1, 2, 3].map((slot) => matches.scoreOf(slot))).to.deep.equal(before);
    const found = await matches.best(3, undefined, Uint32Array.of(3, 1, 0), unhurried);
    expect([...found.best.slots]).to.deep.equal([0, 1]);
    expect([...found.best.scores]).to.deep.equal(before.slice(0, 2));
    expect([...found.scores]).to.deep.equal([0, before[1], before[0]]);
    expect([...(await matches.scores(Uint32Array.of(2, 0, 3, 1), unhurried))]).to.deep.equal([
      0,
      before[0],
      0,
      before[1],
    ]);
    matches.close();
    expect(await best(index, 'a z', 3)).to.deep.equal([3]);
  });

  it('stops after its deadline, and leaves nothing behind for the next query', async () => {
    const index = new TextIndex((slot) => slot + 1, { atOnce: 0, chunk: 1 });
    for (let slot = 0; slot < 20; slot++) index.add(slot, utf8('a b'));
    const matches = index.openQuery('a b');
    const late = new Slice({ nowMs: () => 2, monotonicMs: restless() }, 1);
    const refusal = await expectCode(
      matches.best(5, undefined, NO_SLOTS, () => late),
      'unavailable',
    );
    expect(refusal.message).to.match(/deadline/);
    expect([...(await matches.best(2, undefined, NO_SLOTS, unhurried)).best.slots]).to.deep.equal([0, 1]);
    expect((await matches.best(1, undefined, NO_SLOTS, unhurried)).best.scores[0]).to.equal(matches.scoreOf(0));
    matches.close();
  });

  it('stores one text for each slot', async () => {
    const index = indexOf('a');
    expect(() => index.add(0, utf8('b'))).to.throw('slot 0');
    index.remove(5);
    expect(index.documents).to.equal(1);
  });

  it('takes no memory before the first text, and frees the postings after the last', async () => {
    expect(new TextIndex(() => 0).bytes).to.equal(0);
    const index = new TextIndex((slot) => slot);
    for (let slot = 0; slot < 500; slot++) index.add(slot, utf8(`word${slot} and ${slot % 7} more of them all`));
    const full = index.bytes;
    for (let slot = 0; slot < 500; slot++) index.remove(slot);
    expect(index.bytes).to.be.lessThan(full / 4);
  });
});

describe('the text index, compared with a plain one', () => {
  const random = seededRandom(testSeed());
  const WORDS = 400;

  /** A few frequent words and many rare ones. */
  const word = (): string => {
    const rank = Math.floor(WORDS ** random.next());
    return rank % 5 === 0 ? `Wört${rank}` : `a word of ${rank}`.slice(rank % 10);
  };
  const textOf = (words: number): string => Array.from({ length: words }, word).join(random.pick([' ', ', ', '–']));
  const someText = (): string => textOf(random.int(50) === 0 ? random.int(2_000) : random.int(12));

  /** Adds and removes texts; slots are reused, ids are not. */
  class Both {
    readonly ids = new Map<number, number>();
    readonly index: TextIndex;
    readonly plain = new PlainTexts();
    readonly #free: number[] = [];
    #slots = 0;
    #records = 0;

    constructor(slicing?: ConstructorParameters<typeof TextIndex>[1]) {
      this.index = new TextIndex((slot) => this.ids.get(slot)!, slicing);
    }

    /** `reuse` allows the slot of a removed record. */
    add(text: string, reuse = true): void {
      const slot = reuse && this.#free.length > 0 && random.int(4) > 0 ? this.#free.pop()! : this.#slots++;
      this.ids.set(slot, ++this.#records);
      this.index.add(slot, utf8(text));
      this.plain.add(slot, text);
    }

    /** Adds and removes texts in steps, without end. */
    *changes(): Generator<undefined> {
      for (;;)
        if (random.int(2) === 0) {
          const slot = this.#slots++;
          this.ids.set(slot, ++this.#records);
          const text = `all ${someText()}`;
          yield* this.index.prepare(slot, utf8(text));
          this.index.show(slot);
          this.plain.add(slot, text);
          yield;
        } else if (this.plain.slots.length > 0) {
          const slot = random.pick(this.plain.slots);
          this.index.hide(slot);
          this.plain.remove(slot);
          yield* this.index.clear(slot);
        }
    }

    removeOne(): void {
      const { slots } = this.plain;
      if (slots.length === 0) return;
      const slot = random.pick(slots);
      this.index.remove(slot);
      this.plain.remove(slot);
      this.#free.push(slot);
    }

    async check(query: string): Promise<void> {
      const matches = this.index.openQuery(query);
      try {
        await this.#check(query, matches, () => undefined);
      } finally {
        matches.close();
      }
    }

    /** Asserts that the answer is that of the call's start, whatever is written until it arrives. */
    async checkAmongWrites(query: string, write: () => void): Promise<number> {
      const matches = this.index.openQuery(query);
      const isWriting = { now: true, count: 0 };
      const clock = { nowMs: () => 0, monotonicMs: restless() };
      const slice = (): Slice => {
        const resting = new Slice(clock, 1);
        const next = resting.next.bind(resting);
        resting.next = async () => {
          if (isWriting.now) write();
          isWriting.count++;
          await next();
        };
        return resting;
      };
      try {
        await this.#check(query, matches, write, slice);
      } finally {
        matches.close();
      }
      return isWriting.count;
    }

    async #check(
      query: string,
      matches: ReturnType<TextIndex['openQuery']>,
      write: () => void,
      slice: () => Slice = unhurried,
    ): Promise<void> {
      const { index, plain, ids } = this;
      const expected = plain.scores(query);
      expect(index.documents).to.equal(expected.size);
      const slots = Uint32Array.from({ length: this.#slots + 1 }, (_, slot) => slot);
      const asExpected = [...slots].map((slot) => expected.get(slot) ?? 0);
      const eligible = new SlotSet(new BlockShape(3));
      for (let slot = 0; slot < this.#slots; slot++) if (random.int(3) === 0) eligible.add(slot);
      const n = random.pick([1, 3, 20, 5_000]);
      const idOf = (slot: number): number => ids.get(slot)!;
      const bestOf = (isEligible: (slot: number) => boolean): number[] => plain.best(query, n, idOf, isEligible);
      const [all, some] = [bestOf(() => true), bestOf((slot) => eligible.has(slot))];
      expect(matches.isEmpty).to.equal(bestOf(() => true).length === 0);

      write();
      expect([...slots].map((slot) => matches.scoreOf(slot))).to.deep.equal(asExpected);
      expect([...(await matches.scores(slots, slice))]).to.deep.equal(asExpected);
      const few = slots.filter(() => random.int(9) === 0);
      expect([...(await matches.scores(few, slice))]).to.deep.equal([...few].map((slot) => asExpected[slot]));
      const found = await matches.best(n, undefined, slots, slice);
      expect([...found.best.slots]).to.deep.equal(all);
      expect([...found.best.scores]).to.deep.equal(all.map((slot) => asExpected[slot]));
      expect([...found.scores]).to.deep.equal(asExpected);
      expect([...(await matches.best(n, eligible, NO_SLOTS, slice)).best.slots]).to.deep.equal(some);
    }
  }

  it('gives equal scores to the bit and equal order, as records are added, removed and replaced', async () => {
    const both = new Both();
    for (let step = 0; step < 6_000; step++) {
      // It grows, shrinks to nothing, and grows again.
      const removed = step % 3_000 < 1_800 ? 0.35 : 0.8;
      if (random.next() < removed) both.removeOne();
      else both.add(someText());
      if (step % 60 === 0) await both.check(textOf(random.int(10) === 0 ? 400 : 1 + random.int(4)));
    }
  });

  it('is right for long postings', async () => {
    const both = new Both();
    for (let i = 0; i < 2_000; i++) both.add(`all ${someText()}`);
    await both.check(`all ${word()}`);
    for (let i = 0; i < 1_900; i++) both.removeOne();
    await both.check(`all ${word()}`);
    for (let i = 0; i < 800; i++) both.add(`all ${someText()}`);
    await both.check(`all ${word()}`);
  });

  it('answers in slices as of the call, whatever is written in between', async () => {
    let rests = 0;
    for (let round = 0; round < 25; round++) {
      const both = new Both({ atOnce: random.pick([0, 40]), chunk: 1 + random.int(30) });
      for (let i = 0; i < 150; i++) both.add(`${random.int(3) === 0 ? 'all of ' : ''}${someText()}`);
      for (let i = 0; i < 30; i++) both.removeOne();
      const write = (): void => {
        for (let i = random.int(4); i > 0; i--) {
          if (random.int(2) === 0) both.removeOne();
          else both.add(`all ${someText()}`, false);
        }
      };
      rests += await both.checkAmongWrites(`all ${textOf(random.pick([1, 3, 100]))}`, write);
      await both.check(`all ${word()}`);
    }
    expect(rests).to.be.greaterThan(100);
  });

  it('answers as of the call while texts are added and removed in steps', async () => {
    let rests = 0;
    for (let round = 0; round < 40; round++) {
      const both = new Both({ atOnce: random.pick([0, 40]), chunk: 1 + random.int(40) });
      for (let i = 0; i < 60; i++) both.add(`${random.int(3) === 0 ? 'all of ' : ''}${someText()}`);
      const changes = both.changes();
      const write = (): void => {
        for (let steps = random.int(5); steps > 0; steps--) changes.next();
      };
      for (let i = 0; i < 6; i++) {
        write();
        rests += await both.checkAmongWrites(`all ${textOf(random.pick([1, 3, 100]))}`, write);
      }
    }
    expect(rests).to.be.greaterThan(100);
  });

  it('is right for several queries that take turns', async () => {
    const both = new Both({ atOnce: 0, chunk: 5 });
    for (let i = 0; i < 80; i++) both.add(`all ${someText()}`);
    const queries = Array.from({ length: 6 }, () => `all ${textOf(2)}`);
    await Promise.all(queries.map((query) => both.checkAmongWrites(query, () => undefined)));
  });
});
