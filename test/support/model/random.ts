/** Seeded randomness for tests: print the seed, replay with `VOUCH_SEED`. */
import { systemEntropy } from '../../../shared/clock.js';
import { seededRandom } from '../../soak/random.js';

export { type SeededRandom, seededRandom } from '../../soak/random.js';

/** The seed of this run: `VOUCH_SEED`, or a fresh one; printed, so that a failure can be replayed. */
export function testSeed(): number {
  const seed = process.env.VOUCH_SEED ? Number(process.env.VOUCH_SEED) : Buffer.from(systemEntropy(4)).readUInt32LE();
  console.log(`      seed ${seed} (replay with VOUCH_SEED=${seed})`);
  return seed;
}

/** Of all, one in `count`, evenly, from a first that is drawn: what takes long is done with these. */
export function drawnOneIn<T>(count: number, all: readonly T[]): T[] {
  const first = seededRandom(testSeed()).int(count);
  return all.filter((_, i) => i % count === first);
}
