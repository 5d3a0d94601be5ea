/** Checks that a swept service serves its collection. */
import { systemClock } from '../../../shared/clock.js';
import { COLLECTION, DIMENSION, type Stage } from './stage.js';

const WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 200;

/** Resolves once a write and a search are answered. Throws an Error if they are not. */
export async function servedAgain({ ask }: Stage): Promise<void> {
  const overMs = systemClock.monotonicMs() + WITHIN_MS;
  const search = { query: ask.draws.vector(DIMENSION), k: 5, color: null, isEventual: false, asOf: null };
  for (;;) {
    const calls = [
      await ask.call({ op: 'insert', collection: COLLECTION, row: ask.draws.row(DIMENSION) }),
      await ask.call({ op: 'search', collection: COLLECTION, ...search }),
    ];
    if (calls.every(({ outcome }) => outcome.kind === 'ok')) return;
    if (systemClock.monotonicMs() > overMs)
      throw new Error(`${COLLECTION} is not served again: ${JSON.stringify(calls.map(({ outcome }) => outcome))}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
