/** Simulated clusters: some with new seeds, all that have ever failed, and that a seed is a whole world. */
import { expect } from 'chai';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { Child } from './children.js';
import { FAILED_SEEDS } from './failedSeeds.js';
import { assertFits } from './mutants.js';
import { MUTATIONS } from './mutations.js';

/** Real time of clusters with new seeds, and simulated time of each. */
const NEW_SEEDS_MS = 45_000;
const DURATION_MS = 60_000;

describe('a simulated cluster', function () {
  this.timeout(300_000);
  let child: Child;
  before(() => {
    child = new Child();
  });
  after(() => child.end());

  it('loses nothing and invents nothing, whatever goes wrong', async () => {
    const given = process.env.VOUCH_SEED;
    const first = given === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : Number(given);
    process.stdout.write(`      seed ${first} (replay with VOUCH_SEED=${first})\n`);
    const untilMs = systemClock.monotonicMs() + NEW_SEEDS_MS;
    for (let seed = first; systemClock.monotonicMs() < untilMs; seed++) {
      const { failures } = await child.run({ seed, durationMs: DURATION_MS });
      expect(
        failures,
        `npm run simulate -- --seed ${seed} --length ${DURATION_MS / 1_000} --calm 0 --replay`,
      ).to.deep.equal([]);
    }
  });

  for (const { defect, ...order } of FAILED_SEEDS)
    it(`of seed ${order.seed} shows no more: ${defect}`, async () => {
      const { failures } = await child.run(order);
      expect(failures).to.deep.equal([]);
    });

  it('of one seed is the same each time, in any process and after any other', async () => {
    const again = new Child();
    try {
      for (const seed of [3, 4, 5]) await child.run({ seed, durationMs: 5_000 });
      for (const seed of [11, 12]) {
        const [one, other] = [
          await child.run({ seed, durationMs: 20_000 }),
          await again.run({ seed, durationMs: 20_000 }),
        ];
        expect(one.events).to.be.greaterThan(1_000);
        expect({ hash: other.hash, steps: other.steps }).to.deep.equal({ hash: one.hash, steps: one.steps });
      }
    } finally {
      await again.end();
    }
  });

  it('of two seeds are two', async () => {
    const [one, other] = [
      await child.run({ seed: 1, durationMs: 2_000 }),
      await child.run({ seed: 2, durationMs: 2_000 }),
    ];
    expect(one.hash).not.to.equal(other.hash);
  });

  it('can be had with each of the faults that the simulation has to find', async () => {
    for (const mutation of MUTATIONS) await assertFits(mutation);
  });
});
