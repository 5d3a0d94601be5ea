import { expect } from 'chai';
import { nearest, nearestOf } from '../../../config/nearest.js';
import { SeededNumbers } from '../../../shared/seededNumbers.js';

describe('the nearest name', () => {
  it('has at most one letter in three left out, added, changed or swapped', () => {
    const known = ['search', 'records', 'log_level'];
    for (const [name, found] of [
      ['search', 'search'],
      ['serach', 'search'],
      ['Sarch', 'search'],
      ['searches', 'search'],
      ['LOGLEVEL', 'log_level'],
      ['log-lvel', 'log_level'],
      ['sea', undefined],
      ['', undefined],
      ['quite another', undefined],
      [`search${'x'.repeat(60)}`, undefined],
    ] as const)
      expect(nearest(name, known), name).to.equal(found);
  });

  it('is the first of the names with the fewest slips', () => {
    expect(nearest('part', ['port', 'parts', 'past'])).to.equal('port');
    expect(nearest('parts', ['port', 'parts'])).to.equal('parts');
  });

  it('is found by the compared parts alone', () => {
    const names = ['a/host', 'b/port'].map((name) => ({ name, asked: 'prot', known: name.slice(2) }));
    expect(nearestOf(names)).to.equal('b/port');
  });

  it('counts as the whole table of distances does', () => {
    const numbers = new SeededNumbers(77);
    const word = (): string => Array.from({ length: numbers.below(6) }, () => 'abc'[numbers.below(3)]).join('');
    for (let i = 0; i < 3_000; i++) {
      const [asked, known] = [word(), word()];
      const most = Math.floor(Math.max(asked.length, known.length) / 3);
      const near = slipsOf(asked, known) <= most ? known : undefined;
      expect(nearest(asked, [known]), `${asked} ${known}`).to.equal(near);
    }
  });
});

/** The distance of optimal string alignment, by its definition. */
function slipsOf(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const [x, y] = [a.slice(0, -1), b.slice(0, -1)];
  const isSwapped = a.length > 1 && b.length > 1 && a.at(-1) === b.at(-2) && a.at(-2) === b.at(-1);
  return Math.min(
    slipsOf(x, b) + 1,
    slipsOf(a, y) + 1,
    slipsOf(x, y) + Number(a.at(-1) !== b.at(-1)),
    isSwapped ? slipsOf(x.slice(0, -1), y.slice(0, -1)) + 1 : Number.POSITIVE_INFINITY,
  );
}
