import { expect } from 'chai';
import { testSeed } from '../support/model/random.js';
import { fuzz } from './fuzz.js';
import { TARGETS } from './targets/all.js';

/** Registers a test of each target, with this share of its cases. */
export function describeFuzz(title: string, share: number): void {
  describe(title, () => {
    for (const { target, cases: all } of TARGETS) {
      const cases = all * share;
      it(`${target.name}: ${cases.toLocaleString('en')} cases do no harm`, async () => {
        const tally = await fuzz(target, { seed: testSeed(), shouldContinue: (done) => done < cases });
        expect(tally.cases).to.equal(cases);
        expect(tally.refused).to.be.above(cases / 10);
      });
    }
  });
}
