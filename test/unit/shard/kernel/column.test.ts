import { expect } from 'chai';
import { Column } from '../../../../shard/kernel/column.js';
import { seededRandom } from '../../../support/model/random.js';

const ABSENT = 0xffff_ffff;

describe('a column of numbers', () => {
  it('reads what was written last, and the fill elsewhere, as an array does', () => {
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

  it('is pushed to where it ends, through whole chunks of fills too', () => {
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

  it('reads the fill at indexes that are no 32-bit numbers', () => {
    const column = new Column(ABSENT);
    column.push(7);
    expect([-1, 2 ** 32, 2 ** 40].map((index) => column.get(index))).to.deep.equal([ABSENT, ABSENT, ABSENT]);
  });
});
