/** Simulated clusters of new seeds for a short time; a seed determines everything that happens. */
import { expect } from 'chai';
import { Child } from './children.js';
import { simulateNewSeeds } from './newSeeds.js';

describe('a simulated cluster', function () {
  this.timeout(300_000);
  let child: Child;
  before(() => {
    child = new Child();
  });
  after(() => child.end());

  it('loses nothing and invents nothing, whatever goes wrong', () => simulateNewSeeds(child, 8_000));

  it('does the same for the same seed, in any process and after any other seed', async () => {
    const again = new Child();
    try {
      for (const seed of [3, 4, 5]) await child.run({ seed, durationMs: 5_000 });
      for (const seed of [11]) {
        const [one, other] = [
          await child.run({ seed, durationMs: 10_000 }),
          await again.run({ seed, durationMs: 10_000 }),
        ];
        expect(one.events).to.be.greaterThan(1_000);
        expect({ hash: other.hash, steps: other.steps }).to.deep.equal({ hash: one.hash, steps: one.steps });
      }
    } finally {
      await again.end();
    }
  });

  it('differs between two seeds', async () => {
    const [one, other] = [
      await child.run({ seed: 1, durationMs: 2_000 }),
      await child.run({ seed: 2, durationMs: 2_000 }),
    ];
    expect(one.hash).not.to.equal(other.hash);
  });
});
