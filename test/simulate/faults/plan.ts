/** Which faults a simulated cluster meets, and when: drawn from its seed before it begins. */
import { type SeededRandom, seededRandom } from '../../soak/random.js';
import { FAULTS, type FaultKind } from './kinds.js';

export interface PlannedFault {
  /** Its place in the plan, by which it can be left out. */
  readonly number: number;
  readonly kind: FaultKind;
  /** Since the clients began, in milliseconds. */
  readonly atMs: number;
  /** Of its numbers: whatever else is in the plan, it does the same. */
  readonly seed: number;
}

const FIRST_MS = 1_000;

/** One fault in so many is the last before a calm. */
const CALM_ONE_IN = 6;

export interface FaultTimes {
  /** Faults are planned for so long, in milliseconds. */
  readonly untilMs: number;
  /** Between two faults, on average, in milliseconds; now and then several come at once. */
  readonly everyMs: number;
  /** Of a calm between storms of faults, on average, in milliseconds; 0: there is none. */
  readonly calmMs: number;
  /** How many kinds there are, the first of `FAULTS`; all of them where it is left out. */
  readonly kinds?: number | undefined;
}

export function planFaults(
  random: SeededRandom,
  { untilMs, everyMs, calmMs, kinds: count }: FaultTimes,
): PlannedFault[] {
  const kinds = (Object.keys(FAULTS) as FaultKind[]).slice(0, count);
  // Each cluster meets some kinds more often than others, so that the same ones meet each other.
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
