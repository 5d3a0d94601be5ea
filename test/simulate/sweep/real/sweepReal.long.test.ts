/** Runs a sample of the sweep with real processes: one operation, with a fault at one of its calls. */
import { expect } from 'chai';
import { systemEntropy } from '../../../../shared/clock.js';
import { seededRandom } from '../../../soak/random.js';
import { skip } from '../../../support/skip.js';
import { OPERATIONS } from '../operations.js';
import { SWEPT, sweepOne, whyNoRealSweep } from './sweepReal.js';

const POINTS = 1;

describe('an operation of a real process with a fault at one of its calls', () => {
  before(async function () {
    const why = await whyNoRealSweep();
    if (why !== undefined) skip(this, `strace cannot follow processes here: ${why}`);
  });

  it('is completed afterwards, and loses nothing', async () => {
    const given = process.env.VOUCH_SEED;
    const seed = given === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : Number(given);
    process.stdout.write(`      seed ${seed} (replay with VOUCH_SEED=${seed})\n`);
    const operation = OPERATIONS[seededRandom(seed).pick(SWEPT)]!;
    const failures: string[] = [];
    const never = new AbortController().signal;
    await sweepOne(operation, { seed, points: POINTS }, never, (failure) => failures.push(failure));
    expect(failures).to.deep.equal([]);
  });
});
