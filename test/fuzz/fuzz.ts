/** Gives a target mutated inputs, as many as asked for, and reports what it must not do. */
import { seededRandom } from '../support/model/random.js';
import { mutated } from './mutate.js';
import type { FuzzTarget, Outcome } from './target.js';

export interface Tally {
  readonly cases: number;
  readonly refused: number;
  readonly taken: number;
}

/** A violation by an input, and how to repeat it. */
export class Finding extends Error {
  constructor(target: string, seed: number, number: number, input: Uint8Array, cause: unknown) {
    const shown = Buffer.from(input.subarray(0, 512)).toString('base64');
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`${target}, seed ${seed}, case ${number}: ${why}\ninput (${input.length} bytes, base64): ${shown}`, {
      cause,
    });
    this.name = 'Finding';
  }
}

export interface FuzzOptions {
  readonly seed: number;
  /** Whether to continue after that many cases. */
  readonly shouldContinue: (cases: number) => boolean;
}

/** Throws a Finding, also for an unhandled rejection, or if the end of the target finds traces. */
export async function fuzz(target: FuzzTarget, { seed, shouldContinue }: FuzzOptions): Promise<Tally> {
  const random = seededRandom(seed);
  const open = await target.open(random);
  const tally: Record<Outcome, number> = { refused: 0, taken: 0 };
  let input: Uint8Array = new Uint8Array();
  let cases = 0;
  let unhandled: unknown;
  const onUnhandled = (reason: unknown): void => {
    unhandled ??= reason ?? new Error('a rejection without a reason');
  };
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', onUnhandled);
  try {
    while (shouldContinue(cases)) {
      input = mutated(open.samples, random);
      tally[await open.tryOne(input)]++;
      cases++;
      if (unhandled !== undefined) throw unhandled;
      // Unhandled rejections are reported between turns.
      if (cases % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    input = new Uint8Array();
    await open.close();
    if (unhandled !== undefined) throw unhandled;
  } catch (error) {
    throw new Finding(target.name, seed, cases, input, error);
  } finally {
    process.off('unhandledRejection', onUnhandled);
    for (const other of others) process.on('unhandledRejection', other);
  }
  return { cases, ...tally };
}
