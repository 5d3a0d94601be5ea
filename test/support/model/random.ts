/** Seeded randomness for tests: prints the seed; `VOUCH_SEED` replays it. */
import { systemEntropy } from '../../../shared/clock.js';
import { seededRandom } from '../../soak/random.js';

export { type SeededRandom, seededRandom } from '../../soak/random.js';

/** Seed of this run: `VOUCH_SEED`, or a fresh one. It is printed, so that a failure can be replayed. */
export function testSeed(): number {
  const seed = process.env.VOUCH_SEED ? Number(process.env.VOUCH_SEED) : Buffer.from(systemEntropy(4)).readUInt32LE();
  console.log(`      seed ${seed} (replay with VOUCH_SEED=${seed})`);
  return seed;
}

/** Every `count`th of all, from a random first: a sample for slow work. */
export function drawnOneIn<T>(count: number, all: readonly T[]): T[] {
  const first = seededRandom(testSeed()).int(count);
  return all.filter((_, i) => i % count === first);
}
