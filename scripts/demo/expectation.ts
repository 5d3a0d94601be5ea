/** What the demo promises its spectator. A promise that is not kept ends it. */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../shared/clock.js';

const BETWEEN_MS = 10;

export function expect(holds: boolean, broken: string): asserts holds {
  if (!holds) throw new Error(broken);
}

/** The first answer of `look` that is not undefined. Throws with what is `missing` where none comes within `withinMs`. */
export async function until<T>(
  missing: string,
  withinMs: number,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const giveUpMs = systemClock.monotonicMs() + withinMs;
  while (systemClock.monotonicMs() < giveUpMs) {
    const found = await look();
    if (found !== undefined) return found;
    await wait(BETWEEN_MS);
  }
  throw new Error(`${missing} within ${withinMs / 1000} s`);
}
