/** Simulated clusters of new seeds for a short time; a seed determines everything that happens. */
import { expect } from 'chai';
import { atLength } from '../support/atLength.js';
import { Child } from './children.js';
import { simulateNewSeeds } from './newSeeds.js';

describe('a simulated cluster', function () {
  this.timeout(300_000);
  let child: Child;
  before(() => {
    child = new Child();
  });
  after(() => child.end());

  it('loses nothing and invents nothing, whatever goes wrong', () => simulateNewSeeds(child, 5_000));

  const expectSame = async (others: readonly number[], durationMs: number): Promise<void> => {
    const again = new Child();
    try {
      for (const seed of others) await child.run({ seed, durationMs: durationMs / 2 });
      const order = { seed: 11, durationMs };
      const [one, other] = [await child.run(order), await again.run(order)];
      expect(one.events).to.be.greaterThan(durationMs / 10);
      expect({ hash: other.hash, steps: other.steps }).to.deep.equal({ hash: one.hash, steps: one.steps });
    } finally {
      await again.end();
    }
  };

  it('does the same for the same seed, in any process and after any other seed', () => expectSame([3], 3_000));

  it(atLength('does the same for the same seed after several others'), () => expectSame([3, 4, 5], 5_000));

  it('differs between two seeds', async () => {
    const [one, other] = [
      await child.run({ seed: 1, durationMs: 2_000 }),
      await child.run({ seed: 2, durationMs: 2_000 }),
    ];
    expect(one.hash).not.to.equal(other.hash);
  });
});
