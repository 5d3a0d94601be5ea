/** A sample of the sweep: some operations, each with faults at some of their steps. */
import { expect } from 'chai';
import { systemClock, systemEntropy } from '../../../shared/clock.js';
import { seededRandom } from '../../soak/random.js';
import { Child } from '../children.js';
import { orderOf, sweeps } from './sweep.js';

const SAMPLE_MS = 15_000;
/** Faults of one world, and the steps between them at most. */
const FAULTS = 5;
const STRIDE = 12;

describe('an operation with a fault at one of its steps', function () {
  this.timeout(180_000);

  it('is completed afterwards, and nothing is lost', async () => {
    const given = process.env.VOUCH_SEED;
    const seed = given === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : Number(given);
    process.stdout.write(`      seed ${seed} (replay with VOUCH_SEED=${seed})\n`);
    const random = seededRandom(seed);
    const child = new Child();
    const orders = sweeps('');
    let faults = 0;
    try {
      const untilMs = systemClock.monotonicMs() + SAMPLE_MS;
      do {
        const point = { ...random.pick(orders), from: 1 + random.int(STRIDE), every: 1 + random.int(STRIDE) };
        const { failures, swept } = await child.run(orderOf(seed, { ...point, most: FAULTS }));
        expect(failures, JSON.stringify(point)).to.deep.equal([]);
        faults += swept!.faults;
      } while (systemClock.monotonicMs() < untilMs || faults === 0);
    } finally {
      await child.end();
    }
  });
});
