import { expect } from 'chai';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import type { Child } from './children.js';

/** Simulated time of one cluster. */
const DURATION_MS = 60_000;

/** Simulates clusters of new seeds until the real time is over. VOUCH_SEED sets the first seed. */
export async function simulateNewSeeds(child: Child, withinMs: number): Promise<void> {
  const given = process.env.VOUCH_SEED;
  const first = given === undefined ? Buffer.from(systemEntropy(4)).readUInt32LE() % 1_000_000_000 : Number(given);
  process.stdout.write(`      seed ${first} (replay with VOUCH_SEED=${first})\n`);
  const untilMs = systemClock.monotonicMs() + withinMs;
  for (let seed = first; systemClock.monotonicMs() < untilMs; seed++) {
    const { failures } = await child.run({ seed, durationMs: DURATION_MS });
    const replay = `npm run simulate -- --seed ${seed} --length ${DURATION_MS / 1_000} --calm 0 --replay`;
    expect(failures, replay).to.deep.equal([]);
  }
}
