// Covers: shared/errors/counted.ts, verifier/counted.ts, scripts/terminal/line.ts
import { expect } from 'chai';
import { counted as grouped } from '../../../../scripts/terminal/line.js';
import { counted } from '../../../../shared/errors/counted.js';
import { counted as verified } from '../../../../verifier/counted.js';

describe('a number of things in a message', () => {
  it('has a noun in the singular only for one', () => {
    for (const text of [counted, verified, grouped]) {
      expect([0, 1, 2].map((count) => text(count, 'row'))).to.deep.equal(['0 rows', '1 row', '2 rows']);
      expect([1n, 2n].map((count) => text(count, 'entry', 'entries'))).to.deep.equal(['1 entry', '2 entries']);
    }
  });

  it('is grouped by thousands only where a person reads it', () => {
    expect([counted(1_234, 'row'), verified(1_234, 'row'), grouped(1_234, 'row')]).to.deep.equal([
      ...['1234 rows', '1234 rows'],
      '1,234 rows',
    ]);
  });
});
