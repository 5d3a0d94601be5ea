/**
 * Mutated input from outside: no crash, no unhandled rejection, no false acceptance. `npm run fuzz` runs for longer.
 */
import { expect } from 'chai';
import { testSeed } from '../support/model/random.js';
import { fuzz } from './fuzz.js';
import { TARGETS } from './targets/all.js';

describe('fuzzed', () => {
  for (const { target, cases } of TARGETS)
    it(`${target.name}: ${cases.toLocaleString('en')} cases do no harm`, async () => {
      const tally = await fuzz(target, { seed: testSeed(), shouldContinue: (done) => done < cases });
      expect(tally.cases).to.equal(cases);
      expect(tally.refused).to.be.above(cases / 10);
    });
});
