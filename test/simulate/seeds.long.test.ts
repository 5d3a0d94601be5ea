/**
 * Simulated clusters of new seeds for longer, of every seed that has failed once, and the faults that the simulation
 * must find.
 */
import { expect } from 'chai';
import { Child } from './children.js';
import { FAILED_SEEDS } from './failedSeeds.js';
import { assertFits } from './mutants.js';
import { MUTATIONS } from './mutations.js';
import { simulateNewSeeds } from './newSeeds.js';

describe('many simulated clusters', function () {
  this.timeout(300_000);
  let child: Child;
  before(() => {
    child = new Child();
  });
  after(() => child.end());

  it('lose nothing and invent nothing, whatever goes wrong', () => simulateNewSeeds(child, 20_000));

  for (const { defect, ...order } of FAILED_SEEDS)
    it(`with seed ${order.seed} are free of a repaired defect: ${defect}`, async () => {
      const { failures } = await child.run(order);
      expect(failures).to.deep.equal([]);
    });

  it('are buildable with each mutation that the simulation must find', async () => {
    for (const mutation of MUTATIONS) await assertFits(mutation);
  });
});
