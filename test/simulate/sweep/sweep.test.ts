/** Runs a sample of the sweep: some operations, each with faults at some of their steps. */
import { expect } from 'chai';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { seededRandom } from '../../soak/random.js';
import { atLength } from '../../support/atLength.js';
import { Child } from '../children.js';
import { failuresOf, faultsAt, stepsOf, sweeps } from './sweep.js';

const SAMPLE_MS = 4_000;
const LONG_SAMPLE_MS = 15_000;
/** Number of faults per operation. */
const FAULTS = 8;

/** Runs drawn operations, each with drawn faults, until the time is over. */
async function sweepSample(sampleMs: number): Promise<void> {
  const given = process.env.VOUCH_SEED;
  const seed = given === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : Number(given);
  process.stdout.write(`      seed ${seed} (replay with VOUCH_SEED=${seed})\n`);
  const random = seededRandom(seed);
  const child = new Child();
  const all = sweeps('');
  try {
    const untilMs = systemClock.monotonicMs() + sampleMs;
    do {
      const sweep = random.pick(all);
      const steps = await stepsOf(child, seed, sweep);
      const faults = faultsAt(steps);
      for (let i = 0; i < FAULTS; i++) {
        const order = { ...sweep, fault: random.pick(faults) };
        expect(await failuresOf(child, seed, order, steps), JSON.stringify(order)).to.deep.equal([]);
      }
    } while (systemClock.monotonicMs() < untilMs);
  } finally {
    await child.end();
  }
}

describe('an operation with a fault at one of its steps', () => {
  it('is completed afterwards, and loses nothing', () => sweepSample(SAMPLE_MS));

  it(atLength('is completed afterwards, whichever operation it is'), () => sweepSample(LONG_SAMPLE_MS));
});
