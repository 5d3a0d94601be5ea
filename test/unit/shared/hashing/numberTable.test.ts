// Covers: shared/hashing/hashPlaces.ts
import { expect } from 'chai';
import { NumberTable } from '../../../../shared/hashing/numberTable.js';
import { publicHash } from '../../../support/collidingNumbers.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a table of numbers', () => {
  it('gives equal numbers one ordinal, in the order of their first addition', () => {
    const random = seededRandom(testSeed());
    const table = new NumberTable();
    const ordinals = new Map<number, number>();
    for (let round = 0; round < 20_000; round++) {
      const number = random.pick([
        random.int(5_000),
        -random.int(5_000),
        random.next() * 2 ** random.int(1_000),
        0,
        -0,
      ]);
      expect(table.find(number)).to.equal(ordinals.get(number));
      if (!ordinals.has(number)) ordinals.set(number, ordinals.size);
      expect(table.add(number)).to.equal(ordinals.get(number));
      expect(table.size).to.equal(ordinals.size);
    }
    for (const [number, ordinal] of ordinals) expect(table.numberAt(ordinal)).to.equal(number);
    expect(table.has(Number.POSITIVE_INFINITY)).to.equal(false);
  });

  it('probes few places for numbers that share a bucket in V8, and for powers of two', () => {
    const numbers: number[] = [];
    for (let whole = 0; numbers.length < 4_000; whole++) if ((publicHash(whole) & 0xfff) === 0) numbers.push(whole);
    for (let i = 0; i < 4_000; i++) numbers.push(i * 2 ** 20, i * 2 ** -30, i * 2 ** 300);
    const table = NumberTable.of(numbers);
    // A half full table probes 2.5 places for a number that it lacks.
    expect(table.probes / numbers.length).to.be.below(8);
  });

  it('moves few numbers with any addition', () => {
    const table = new NumberTable();
    let most = 0;
    for (let i = 0; i < 300_000; i++) {
      const before = table.probes;
      table.add(i * 1.25);
      most = Math.max(most, table.probes - before);
    }
    for (let i = 0; i < 300_000; i += 997) expect(table.find(i * 1.25)).to.equal(i);
    expect(table.size).to.equal(300_000);
    // 16,384 numbers are split into 256 parts, the only time that many move together.
    expect(most).to.be.below(2 * 16_384);
  });
});
