/**
 * Draws from the seed how long a simulated cluster runs and how its faults are spread, unless the command line says it.
 * Long runs take four fifths of all simulated time and three fifths of the processor's.
 */

export interface Pace {
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** Mean length of a calm between storms of faults, in milliseconds. 0: no calms. */
  readonly calmMs: number;
}

/** Short runs: each storm meets what the last one left behind. */
const DENSE: Pace = { durationMs: 900_000, calmMs: 75_000 };
/** Long runs: hourly work happens, and a calm outlasts every wait of ten minutes. */
const LONG: Pace = { durationMs: 14_400_000, calmMs: 1_200_000 };
/** One of five consecutive seeds is long, so that every run has its share. */
const LONG_ONE_IN = 5;

export function paceOf(seed: number, { durationMs, calmMs }: Partial<Pace> = {}): Pace {
  const usual = seed % LONG_ONE_IN === 0 ? LONG : DENSE;
  return { durationMs: durationMs ?? usual.durationMs, calmMs: calmMs ?? usual.calmMs };
}
