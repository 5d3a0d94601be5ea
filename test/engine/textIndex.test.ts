import { expect } from 'chai';
import { BlockShape } from '../../shard/kernel/blockShape.js';
import { SlotSet } from '../../shard/kernel/slotSet.js';
import { TextIndex } from '../../shard/text/textIndex.js';
import { seededRandom, testSeed } from '../support/random.js';
import { PlainTexts } from './textOracle.js';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Slot i holds record i + 1. */
function indexOf(...texts: readonly string[]): TextIndex {
  const index = new TextIndex((slot) => slot + 1);
  for (const [slot, text] of texts.entries()) index.add(slot, utf8(text));
  return index;
}

const scores = (index: TextIndex, query: string, slots: readonly number[]): number[] => {
  const matches = index.match(query);
  return slots.map((slot) => Number(matches.scoreOf(slot).toFixed(6)));
};

describe('the index of the texts', () => {
  it('scores by BM25', () => {
    const index = indexOf('red apple', 'Green apple pie', 'blue sky');
    expect(scores(index, 'apple', [0, 1, 2])).to.deep.equal([0.502294, 0.416459, 0]);
    expect(scores(index, 'PIE', [0, 1, 2])).to.deep.equal([0, 0.869089, 0]);
    expect(scores(index, 'apple pie', [0, 1, 2])).to.deep.equal([0.502294, 1.285548, 0]);
    expect([...index.match('apple pie').best(10)]).to.deep.equal([1, 0]);
  });

  it('takes a word once, however often the query says it', () => {
    const index = indexOf('red apple', 'green apple pie', 'blue sky');
    expect(scores(index, 'apple Apple APPLE', [0, 1, 2])).to.deep.equal(scores(index, 'apple', [0, 1, 2]));
  });

  it('values a word more the more often a text has it, up to hundreds of times', () => {
    const filled = (count: number): string => `${'a '.repeat(count)}${'b '.repeat(400 - count)}`;
    const index = indexOf(...[1, 14, 15, 16, 300].map(filled), 'c', 'c', 'c', 'c', 'c', 'c');
    expect([...index.match('a').best(10)]).to.deep.equal([4, 3, 2, 1, 0]);
    const matches = index.match('a');
    const ratio = matches.scoreOf(4) / matches.scoreOf(0);
    const norm = 1.5 * (0.25 + (0.75 * 400) / (2_006 / 11));
    expect(ratio).to.be.closeTo((300 / (300 + norm)) * (1 + norm), 1e-9);
  });

  it('gives 0 to a record without a text, and to every record where no word is known', () => {
    const index = indexOf('red apple');
    const unknown = index.match('nothing of it');
    expect(unknown.isEmpty).to.equal(true);
    expect([unknown.scoreOf(0), unknown.scoreOf(7), index.match('red').scoreOf(7)]).to.deep.equal([0, 0, 0]);
    expect([...unknown.best(3)]).to.deep.equal([]);
    for (const wordless of ['', ' ?! ']) expect(index.match(wordless).isEmpty).to.equal(true);
  });

  it('counts texts without words among the documents', () => {
    const index = indexOf('', '...', 'one', 'one two');
    expect(index.documents).to.equal(4);
    expect(index.averageLength).to.equal(0.75);
    expect([index.match('one').scoreOf(0), index.match('one').scoreOf(1)]).to.deep.equal([0, 0]);
    for (const slot of [0, 1, 2, 3]) index.remove(slot);
    expect(index.documents).to.equal(0);
    expect(index.match('one').isEmpty).to.equal(true);
  });

  it('orders equal matches by record id, not by slot', () => {
    const index = new TextIndex((slot) => [30, 10, 20][slot]!);
    for (const slot of [0, 1, 2]) index.add(slot, utf8('same words'));
    expect([...index.match('same').best(3)]).to.deep.equal([1, 2, 0]);
    expect([...index.match('same').best(2)]).to.deep.equal([1, 2]);
    expect([...index.match('same').best(0)]).to.deep.equal([]);
  });

  it('takes the best of the eligible', () => {
    const index = indexOf('a', 'a a', 'a a a', 'b');
    const eligible = new SlotSet(new BlockShape(4));
    for (const slot of [0, 1, 3]) eligible.add(slot);
    expect([...index.match('a').best(1, eligible)]).to.deep.equal([1]);
    expect([...index.match('a').best(9, eligible)]).to.have.members([0, 1]);
  });

  it('finds words in any script and spelling', () => {
    const index = indexOf('Über die STRASSE', 'ΟΔΟΣ', '你好，世界', 'cafe\u0301 👍', 'Nr. 42');
    const found = (query: string): number[] => [...index.match(query).best(9)];
    expect(found('über')).to.deep.equal([0]);
    expect(found('οδος')).to.deep.equal([1]);
    expect(found('世界')).to.deep.equal([2]);
    expect(found('CAFÉ')).to.deep.equal([3]);
    expect(found('👍')).to.deep.equal([]);
    expect(found('42')).to.deep.equal([4]);
  });

  it('holds texts of 64 KiB, of one word and of thousands', () => {
    const long = 'x'.repeat(65_536);
    const many = Array.from({ length: 9_000 }, (_, i) => `w${i}`).join(' ');
    const index = indexOf(long, many, 'a '.repeat(32_768), 'w17');
    expect([...index.match(long).best(9)]).to.deep.equal([0]);
    expect([...index.match('w17').best(9)]).to.deep.equal([3, 1]);
    expect([...index.match('w8999').best(9)]).to.deep.equal([1]);
    expect([...index.match('a').best(9)]).to.deep.equal([2]);
    index.remove(1);
    expect([...index.match('w17').best(9)]).to.deep.equal([3]);
    expect(index.match('w8999').isEmpty).to.equal(true);
  });

  it('follows the collection while a match is kept', () => {
    const index = indexOf('a', 'a b', 'c');
    const matches = index.match('a z');
    const before = matches.scoreOf(0);
    index.remove(1);
    expect(matches.scoreOf(1)).to.equal(0);
    expect(matches.scoreOf(0)).to.be.greaterThan(before);
    index.remove(0);
    expect(matches.isEmpty).to.equal(true);
    index.add(0, utf8('z'));
    expect([...matches.best(3)]).to.deep.equal([0]);
  });

  it('takes one text a slot', () => {
    const index = indexOf('a');
    expect(() => index.add(0, utf8('b'))).to.throw('slot 0');
    index.remove(5);
    expect(index.documents).to.equal(1);
  });

  it('costs nothing before the first text, and gives the postings back after the last', () => {
    expect(new TextIndex(() => 0).bytes).to.equal(0);
    const index = new TextIndex((slot) => slot);
    for (let slot = 0; slot < 500; slot++) index.add(slot, utf8(`word${slot} and ${slot % 7} more of them all`));
    const full = index.bytes;
    for (let slot = 0; slot < 500; slot++) index.remove(slot);
    expect(index.bytes).to.be.lessThan(full / 4);
  });
});

describe('the index of the texts, beside a plain one', () => {
  const random = seededRandom(testSeed());
  const WORDS = 400;

  /** Few words often, most of them seldom. */
  const word = (): string => {
    const rank = Math.floor(WORDS ** random.next());
    return rank % 5 === 0 ? `Wört${rank}` : `a word of ${rank}`.slice(rank % 10);
  };
  const textOf = (words: number): string => Array.from({ length: words }, word).join(random.pick([' ', ', ', '–']));
  const someText = (): string => textOf(random.int(50) === 0 ? random.int(2_000) : random.int(12));

  /** Adds and removes texts; slots are reused, ids are not. */
  class Both {
    readonly ids = new Map<number, number>();
    readonly index = new TextIndex((slot) => this.ids.get(slot)!);
    readonly plain = new PlainTexts();
    readonly #free: number[] = [];
    #slots = 0;
    #records = 0;

    add(text: string): void {
      const slot = this.#free.length > 0 && random.int(4) > 0 ? this.#free.pop()! : this.#slots++;
      this.ids.set(slot, ++this.#records);
      this.index.add(slot, utf8(text));
      this.plain.add(slot, text);
    }

    removeOne(): void {
      const { slots } = this.plain;
      if (slots.length === 0) return;
      const slot = random.pick(slots);
      this.index.remove(slot);
      this.plain.remove(slot);
      this.#free.push(slot);
    }

    check(query: string): void {
      const { index, plain, ids } = this;
      const expected = plain.scores(query);
      const matches = index.match(query);
      expect(index.documents).to.equal(expected.size);
      for (let slot = 0; slot <= this.#slots; slot++)
        expect(matches.scoreOf(slot), `slot ${slot}`).to.equal(expected.get(slot) ?? 0);
      const eligible = new SlotSet(new BlockShape(3));
      for (let slot = 0; slot < this.#slots; slot++) if (random.int(3) === 0) eligible.add(slot);
      const n = random.pick([1, 3, 20, 5_000]);
      const idOf = (slot: number): number => ids.get(slot)!;
      expect([...matches.best(n)]).to.deep.equal(plain.best(query, n, idOf, () => true));
      expect([...matches.best(n, eligible)]).to.deep.equal(plain.best(query, n, idOf, (slot) => eligible.has(slot)));
      expect(matches.isEmpty).to.equal(plain.best(query, 1, idOf, () => true).length === 0);
    }
  }

  it('gives the same scores to the bit and the same order, as records come, go and take each other’s slots', () => {
    const both = new Both();
    for (let step = 0; step < 6_000; step++) {
      // It grows, shrinks to nothing, and grows again.
      const removed = step % 3_000 < 1_800 ? 0.35 : 0.8;
      if (random.next() < removed) both.removeOne();
      else both.add(someText());
      if (step % 60 === 0) both.check(textOf(random.int(10) === 0 ? 400 : 1 + random.int(4)));
    }
  });

  it('keeps long postings', () => {
    const both = new Both();
    for (let i = 0; i < 2_000; i++) both.add(`all ${someText()}`);
    both.check(`all ${word()}`);
    for (let i = 0; i < 1_900; i++) both.removeOne();
    both.check(`all ${word()}`);
    for (let i = 0; i < 800; i++) both.add(`all ${someText()}`);
    both.check(`all ${word()}`);
  });
});
