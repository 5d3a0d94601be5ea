import { expect } from 'chai';
import { Column } from '../../../../shard/kernel/column.js';
import { releaseMemory } from '../../../../shared/process/memoryAtRest.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const ABSENT = 0xffff_ffff;

describe('a column of numbers', () => {
  it('reads the last written number, and the fill elsewhere, like an array', () => {
    const random = seededRandom(5);
    const column = new Column(ABSENT);
    const model: number[] = [];
    for (let i = 0; i < 40_000; i++) {
      const index = Math.floor(random.next() ** 3 * 20_000);
      const value = random.int(5) === 0 ? ABSENT : random.int(1e9);
      column.set(index, value);
      model[index] = value;
    }
    expect(column.length).to.equal(model.length);
    for (let index = 0; index < model.length + 5_000; index++)
      if (column.get(index) !== (model[index] ?? ABSENT)) expect.fail(`index ${index} reads ${column.get(index)}`);
    const copy = column.toFloat64();
    expect(copy.length).to.equal(model.length);
    for (let index = 0; index < model.length; index++)
      if (copy[index] !== (model[index] ?? ABSENT)) expect.fail(`the copy has ${copy[index]} at ${index}`);
  });

  it('is extended at its end by push, through whole chunks of fills too', () => {
    const column = new Column(0);
    for (let i = 0; i < 10_000; i++) column.push(0);
    column.push(2 ** 53 - 1);
    expect([column.length, column.get(9_999), column.get(10_000), column.get(10_001)]).to.deep.equal([
      10_001,
      0,
      2 ** 53 - 1,
      0,
    ]);
  });

  it('stores numbers of any range, whole or not: ascending, descending, alternating', () => {
    const random = seededRandom(testSeed());
    const steps: readonly ((i: number) => number)[] = [
      (i) => 1_700_000_000_000 + Math.floor(i / 40),
      (i) => 5_000_000 - 3 * i,
      (i) => (i % 2 === 0 ? i : -i),
      () => random.int(2 ** 32 - 1),
      (i) => random.int(2 ** (i / 300)),
      (i) => i / 3,
      (i) => (i === 9_000 ? Number.MAX_SAFE_INTEGER : i),
      (i) => random.pick([254, 255, 256, 65_534, 65_535, i]),
      (i) => (i === 4_500 ? Number.NEGATIVE_INFINITY : i),
      () => -0.5,
    ];
    for (const [at, step] of steps.entries())
      for (const fill of [0, ABSENT, Number.NEGATIVE_INFINITY, 255]) {
        const column = new Column(fill);
        const model: number[] = [];
        for (let i = 0; i < 10_000; i++) {
          const index = random.pick([i, i, random.int(i + 1)]);
          const value = random.int(20) === 0 ? fill : step(i);
          column.set(index, value);
          model[index] = value;
        }
        const expected = Float64Array.from({ length: model.length }, (_, index) => model[index] ?? fill);
        expect(column.toFloat64(), `steps ${at}, fill ${fill}`).to.deep.equal(expected);
        for (let index = 0; index < expected.length; index++)
          if (column.get(index) !== expected[index]) expect.fail(`steps ${at}, fill ${fill}: index ${index}`);
        expect(Column.of(fill, expected).toFloat64(), `steps ${at}, fill ${fill}, of an array`).to.deep.equal(expected);
      }
  });

  it('is made from an array of any length, and grows further', () => {
    for (const length of [0, 1, 3, 4_095, 4_096, 4_097, 9_000]) {
      const numbers = Float64Array.from({ length }, (_, i) => 7 * i);
      const column = Column.of(ABSENT, numbers);
      for (let i = 0; i < 6_000; i++) column.push(i);
      expect(column.toFloat64(), `${length}`).to.deep.equal(
        Float64Array.from({ length: length + 6_000 }, (_, i) => (i < length ? 7 * i : i - length)),
      );
    }
  });

  it('finds the first of ascending numbers that is not below a bound', () => {
    const random = seededRandom(testSeed());
    const column = new Column(0);
    const model: number[] = [];
    for (let i = 0, number = 5; i < 9_000; i++, number += 1 + random.int(3) ** 4) {
      column.push(number);
      model.push(number);
    }
    for (let look = 0; look < 500; look++) {
      const bound = random.int(model.at(-1)! + 20);
      const first = model.findIndex((number) => number >= bound);
      expect(column.firstNotBelow(bound), `${bound}`).to.equal(first === -1 ? model.length : first);
    }
    expect(new Column(0).firstNotBelow(1)).to.equal(0);
  });

  it('takes a byte or two for each number of a regular sequence', async () => {
    await releaseMemory();
    const before = process.memoryUsage().arrayBuffers;
    const columns = Array.from({ length: 20 }, () => new Column(0));
    for (let i = 0; i < 65_536; i++) for (const column of columns) column.push(1_700_000_000_000 + 3 * i);
    await releaseMemory();
    const each = (process.memoryUsage().arrayBuffers - before) / (20 * 65_536);
    expect(each).to.be.below(2.5);
    expect(columns[7]!.get(65_535)).to.equal(1_700_000_000_000 + 3 * 65_535);
  });

  it('reads the fill at indexes that are not 32-bit numbers', () => {
    const column = new Column(ABSENT);
    column.push(7);
    expect([-1, 2 ** 32, 2 ** 40].map((index) => column.get(index))).to.deep.equal([ABSENT, ABSENT, ABSENT]);
  });
});
