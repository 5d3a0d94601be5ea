// Covers: shard/metadata/valueLists.ts
import { expect } from 'chai';
import { SlotValues } from '../../../../shard/metadata/slotValues.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { compareScalars, type Scalar } from '../../../support/model/values.js';

describe('the values of slots', () => {
  const valuesAt = (values: SlotValues, slot: number): Scalar[] =>
    [...values.ordinalsAt(slot)].map((ordinal) => values.value(ordinal)!).sort(compareScalars);

  it('are a set for each slot, after repeated, cleared and added values', () => {
    const random = seededRandom(testSeed());
    const values = new SlotValues();
    const expected = new Map<number, Set<Scalar>>();
    for (let round = 0; round < 2_000; round++) {
      const slot = random.int(300);
      values.clear(slot);
      const own = Array.from({ length: random.int(8) }, () =>
        random.pick<Scalar>([random.int(20), `s${random.int(20)}`, null, true, false]),
      );
      for (const value of own) values.add(slot, values.ordinalOf(value));
      expected.set(slot, new Set(own));
    }
    for (const [slot, own] of expected) {
      expect(valuesAt(values, slot)).to.deep.equal([...own].sort(compareScalars));
      expect(values.countAt(slot)).to.equal(own.size);
      expect(values.slots.has(slot)).to.equal(own.size > 0);
    }
  });

  it('have one ordinal each, whether collected in order or not', () => {
    const values = new SlotValues();
    const collected = Array.from({ length: 1_000 }, (_, i) => `s${String(2 * i).padStart(4, '0')}`);
    const numbers = Array.from({ length: 100 }, (_, i) => values.ordinalOf(i / 8));
    const ordinals = collected.map((text) => values.addString(text));
    const others = collected.map((text) => values.ordinalOf(`${text}x`));
    expect(collected.map((text) => values.ordinalOf(text))).to.deep.equal(ordinals);
    expect(collected.map((text) => values.ordinalOf(`${text}x`))).to.deep.equal(others);
    expect(numbers.map((ordinal) => values.value(ordinal))).to.deep.equal(numbers.map((_, i) => i / 8));
    expect(new Set([...numbers, ...ordinals, ...others, values.ordinalOf(200)]).size).to.equal(values.count);
    expect(values.value(values.ordinalOf(200))).to.equal(200);
    expect(values.isBefore(ordinals[0]!, ordinals[1]!) && values.isBefore(others[0]!, ordinals[1]!)).to.equal(true);
    expect(values.isBefore(others[1]!, ordinals[1]!)).to.equal(false);
  });
});
