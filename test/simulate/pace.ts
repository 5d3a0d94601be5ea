/**
 * How long a simulated cluster runs, and how its faults come: drawn from its seed, unless the command line says it. The long ones
 * take three quarters of all simulated time, and about half of the processor's.
 */
import { seededRandom } from '../soak/random.js';

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
const LONG_ONE_IN = 6;
const PURPOSE = 0x5eed_face;

export function paceOf(seed: number, { durationMs, calmMs }: Partial<Pace> = {}): Pace {
  const drawn = seededRandom(seed ^ PURPOSE).int(LONG_ONE_IN) === 0 ? LONG : DENSE;
  return { durationMs: durationMs ?? drawn.durationMs, calmMs: calmMs ?? drawn.calmMs };
}
