/** Plans which faults a simulated cluster meets, and when: drawn from its seed before it starts. */
import { type SeededRandom, seededRandom } from '../../soak/random.js';
import { FAULTS, type FaultKind } from './kinds.js';

export interface PlannedFault {
  /** Index in the plan, by which the fault can be left out. */
  readonly number: number;
  readonly kind: FaultKind;
  /** Time since the clients started, in milliseconds. */
  readonly atMs: number;
  /** Seed of its own random numbers: it does the same, whatever else is in the plan. */
  readonly seed: number;
}

const FIRST_MS = 1_000;

/** One fault in this many is the last before a calm. */
const CALM_ONE_IN = 6;

export interface FaultTimes {
  /** Length of the plan, in milliseconds. */
  readonly untilMs: number;
  /** Mean time between two faults, in milliseconds; now and then several come at once. */
  readonly everyMs: number;
  /** Mean length of a calm between storms of faults, in milliseconds. 0: no calms. */
  readonly calmMs: number;
  /** Number of kinds to draw from, the first of `FAULTS`; without it, all of them. */
  readonly kinds?: number | undefined;
}

export function planFaults(
  random: SeededRandom,
  { untilMs, everyMs, calmMs, kinds: count }: FaultTimes,
): PlannedFault[] {
  const kinds = (Object.keys(FAULTS) as FaultKind[]).slice(0, count);
  // Each cluster prefers some kinds, so that the same kinds meet each other often.
  const own = Array.from({ length: 1 + random.int(kinds.length) }, () => random.pick(kinds));
  const plan: PlannedFault[] = [];
  let atMs = FIRST_MS;
  while (atMs < untilMs) {
    const kind = random.int(4) === 0 ? random.pick(kinds) : random.pick(own);
    plan.push({ number: plan.length, kind, atMs, seed: random.int(2 ** 31) });
    if (random.int(6) > 0) atMs += 2 * everyMs * random.next();
    if (calmMs > 0 && random.int(CALM_ONE_IN) === 0) atMs += calmMs * (0.5 + random.next());
  }
  return plan;
}

export const randomOf = ({ seed }: PlannedFault): SeededRandom => seededRandom(seed);
