import { expect } from 'chai';
import { nearest } from '../../../config/nearest.js';

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
    const tail = (name: string): string => name.split('/').at(-1)!;
    const compared = (name: string, known: string) => [tail(name), tail(known)] as const;
    expect(nearest('x/prot', ['a/host', 'b/port'], compared)).to.equal('b/port');
  });
});
