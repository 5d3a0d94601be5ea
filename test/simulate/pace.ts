/**
 * How long a simulated cluster runs, and how its faults come: by its seed, unless the command line says it. The long ones take four
 * fifths of all simulated time, and three fifths of the processor's.
 */

export interface Pace {
  /** Simulated time under faults, in milliseconds. */
  readonly durationMs: number;
  /** Of a calm between storms of faults, on average, in milliseconds; 0: there is none. */
  readonly calmMs: number;
}

/** Storms that meet what the last one has left behind. */
const DENSE: Pace = { durationMs: 900_000, calmMs: 75_000 };
/** So long that what happens once an hour does, with calms longer than what waits ten minutes. */
const LONG: Pace = { durationMs: 14_400_000, calmMs: 1_200_000 };
/** Of seeds that follow each other, so that any run has as many. */
const LONG_ONE_IN = 5;

export function paceOf(seed: number, { durationMs, calmMs }: Partial<Pace> = {}): Pace {
  const usual = seed % LONG_ONE_IN === 0 ? LONG : DENSE;
  return { durationMs: durationMs ?? usual.durationMs, calmMs: calmMs ?? usual.calmMs };
}
