import { expect } from 'chai';
import { BitSet } from '../../../../shard/kernel/bitSet.js';
import { BlockShape } from '../../../../shard/kernel/blockShape.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';

/** A bit set and the set of numbers that it must equal. */
class Both {
  readonly numbers = new Set<number>();
  readonly bits: BitSet;

  constructor(size: number) {
    this.bits = BitSet.ofSize(size);
  }

  static filled(random: SeededRandom, size: number): Both {
    const both = new Both(size);
    for (let number = 0; number < size; number++) if (random.next() < 0.4) both.add(number);
    return both;
  }

  add(number: number): void {
    expect(this.bits.add(number)).to.equal(!this.numbers.has(number));
    this.numbers.add(number);
  }

  delete(number: number): void {
    expect(this.bits.delete(number)).to.equal(this.numbers.delete(number));
  }
}

const sorted = (numbers: Iterable<number>): number[] => [...numbers].sort((a, b) => a - b);

describe('a bit set', () => {
  const random = seededRandom(testSeed());

  it('contains the numbers that were added and not deleted, also beyond its first size', () => {
    for (const size of [0, 1, 31, 32, 33, 500]) {
      const both = new Both(size);
      for (let i = 0; i < 2_000; i++) {
        const number = random.int(700);
        if (random.next() < 0.6) both.add(number);
        else both.delete(number);
        expect(both.bits.has(number)).to.equal(both.numbers.has(number));
        if (i % 100 === 0) expect(both.bits.count).to.equal(both.numbers.size);
      }
      expect([...both.bits]).to.deep.equal(sorted(both.numbers));
      expect(both.bits.isEmpty).to.equal(false);
      for (const number of [...both.numbers]) both.delete(number);
      expect([both.bits.isEmpty, both.bits.count]).to.deep.equal([true, 0]);
    }
  });

  it('counts its bits, and knows whether it is empty, after any operation', () => {
    const bits = BitSet.ofSize(64);
    expect(bits.isEmpty).to.equal(true);
    bits.addWord(1, 0x8000_0001);
    expect([bits.isEmpty, bits.count, ...bits]).to.deep.equal([false, 2, 32, 63]);
    bits.addWord(2, 1);
    expect(bits.count, 'there is no room for it').to.equal(2);
    bits.intersect(BitSet.ofSize(0));
    expect([bits.isEmpty, bits.count]).to.deep.equal([true, 0]);
  });

  it('unites, intersects and subtracts sets of equal or different sizes', () => {
    for (let round = 0; round < 200; round++) {
      const [one, other] = [Both.filled(random, random.int(200)), Both.filled(random, random.int(200))];
      const room = 32 * one.bits.words.length;
      const united = sorted(new Set([...one.numbers, ...[...other.numbers].filter((number) => number < room)]));
      expect([...one.bits.clone().unite(other.bits)]).to.deep.equal(united);
      const shared = sorted(one.numbers).filter((number) => other.numbers.has(number));
      const intersection = one.bits.clone().intersect(other.bits);
      expect([...intersection]).to.deep.equal(shared);
      expect([intersection.count, one.bits.countShared(other.bits)]).to.deep.equal([shared.length, shared.length]);
      const rest = sorted(one.numbers).filter((number) => !other.numbers.has(number));
      expect([...one.bits.clone().subtract(other.bits)]).to.deep.equal(rest);
      expect([...one.bits], 'the clones were changed').to.deep.equal(sorted(one.numbers));
      const copied = one.bits.clone().copy(other.bits);
      if (other.bits.words.length !== one.bits.words.length) expect(copied).to.equal(undefined);
      else expect([...copied!]).to.deep.equal(sorted(other.numbers));
    }
  });

  it('returns a slice of itself', () => {
    for (let round = 0; round < 200; round++) {
      const { bits, numbers } = Both.filled(random, 300);
      const [first, size] = [random.int(320), 1 + random.int(150)];
      const part = bits.slice(first, size, new Uint32Array(Math.ceil(size / 32)));
      const expected = sorted(numbers).filter((number) => number >= first && number < first + size);
      expect([...part]).to.deep.equal(expected.map((number) => number - first));
    }
  });

  it('has the block layout of a set of slots', () => {
    for (const dimension of [1, 3, 100]) {
      const shape = new BlockShape(dimension);
      const { bits, numbers } = Both.filled(random, 1_000);
      const slots = SlotSet.of(shape, bits);
      const added = new SlotSet(shape);
      for (const slot of numbers) added.add(slot);
      expect([slots.count, added.count]).to.deep.equal([numbers.size, numbers.size]);
      for (let slot = 0; slot < 1_100; slot++)
        expect([slots.has(slot), added.has(slot)]).to.deep.equal([numbers.has(slot), numbers.has(slot)]);
      for (let index = 0; shape.firstSlot(index) < 1_100; index++) {
        expect(slots.countIn(index)).to.equal(added.countIn(index));
        expect([...(slots.bitmap(index) ?? [])]).to.deep.equal([...(added.bitmap(index) ?? [])]);
      }
      for (const slot of numbers) slots.delete(slot);
      expect(slots.count).to.equal(0);
    }
  });

  it('lists its slots in any block layout, and keeps them if a set made from it changes', () => {
    for (const dimension of [1, 3, 100]) {
      const shape = new BlockShape(dimension);
      const { bits, numbers } = Both.filled(random, 1_000);
      const added = new SlotSet(shape);
      for (const slot of numbers) added.add(slot);
      for (const slots of [SlotSet.of(shape, bits), added]) {
        expect([...slots.listed]).to.deep.equal(sorted(numbers));
        for (const end of [0, 32, 512, 1_024, 2_048])
          expect([...new BitSet(slots.upTo(end))]).to.deep.equal(sorted(numbers).filter((slot) => slot < end));
        slots.add(1_010);
        slots.delete(sorted(numbers)[0]!);
        expect([...slots]).to.deep.equal([...sorted(numbers).slice(1), 1_010]);
        expect([...slots.listed]).to.deep.equal([...slots]);
        expect(slots.count).to.equal(numbers.size);
      }
      expect([...bits]).to.deep.equal(sorted(numbers));
    }
  });
});
