/** A sweep: every operation with a fault at each of its steps. Random faults leave steps out; a sweep does not. */
import { grouped, say, seconds } from '../../../scripts/terminal/line.js';
import { tableLines } from '../../../scripts/terminal/table.js';
import { systemClock } from '../../../shared/clock.js';
import { seededRandom } from '../../soak/random.js';
import type { RunOrder } from '../child.js';
import type { Child } from '../children.js';
import { OPERATIONS } from './operations.js';
import { canMeet, SWEEP_WAYS, type SweepFault } from './point.js';
import type { SweepOrder } from './sweepRun.js';

/** One operation in one mode. */
export type Sweep = Omit<SweepOrder, 'fault'>;

/** Run order for one world. */
export const orderOf = (seed: number, sweep: SweepOrder): RunOrder => ({ seed, durationMs: 1_000, sweep });

export const nameOf = ({ mode, operation }: Sweep): string => `${mode} ${operation}`;

/** Every operation in each of its modes. `only`: keeps those whose name contains this text. */
export const sweeps = (only: string): Sweep[] =>
  Object.entries(OPERATIONS)
    .flatMap(([operation, { modes }]) => modes.map((mode) => ({ mode, operation })))
    .filter((sweep) => nameOf(sweep).includes(only));

/** Names of the operation's steps. Throws an Error if it fails without a fault. */
export async function stepsOf(child: Child, seed: number, sweep: Sweep): Promise<readonly string[]> {
  const { swept, failures } = await child.run(orderOf(seed, sweep));
  if (failures.length > 0) throw new Error(`${nameOf(sweep)} fails without a fault: ${failures[0]}`);
  return swept!;
}

export const faultsAt = (steps: readonly string[]): SweepFault[] =>
  steps.flatMap((step, i) => SWEEP_WAYS.filter((way) => canMeet(step, way)).map((way) => ({ way, at: i + 1 })));

/** Draws `wanted` of all; all if it is undefined. */
export function sample<T>(all: readonly T[], seed: number, wanted: number | undefined): readonly T[] {
  if (wanted === undefined) return all;
  const left = [...all];
  const random = seededRandom(seed);
  return Array.from({ length: Math.min(wanted, left.length) }, () => left.splice(random.int(left.length), 1)[0]!);
}

/**
 * Every violation after one fault; empty if all is well. Until its step, the world equals the one in which the steps
 * were counted.
 */
export async function failuresOf(
  child: Child,
  seed: number,
  order: Sweep & { readonly fault: SweepFault },
  steps: readonly string[],
): Promise<readonly string[]> {
  const { swept, failures } = await child.run(orderOf(seed, order));
  const i = order.fault.at - 1;
  return swept![i] === steps[i] ? failures : [`the step is now ${swept![i]}`, ...failures];
}

/** Returns the exit code: 1 if something did not recover from a fault. */
export async function sweep(
  { seed, only, points }: { readonly seed: number; readonly only: string; readonly points: number | undefined },
  children: readonly Child[],
  signal: AbortSignal,
): Promise<number> {
  const rows: (readonly [string, number, number, number])[] = [];
  for (const each of sweeps(only)) {
    if (signal.aborted) break;
    const begunMs = systemClock.monotonicMs();
    const steps = await stepsOf(children[0]!, seed, each);
    const faults = sample(faultsAt(steps), seed, points);
    let next = 0;
    let failed = 0;
    const work = async (child: Child): Promise<void> => {
      while (next < faults.length && !signal.aborted) {
        const fault = faults[next++]!;
        const failures = await failuresOf(child, seed, { ...each, fault }, steps);
        if (failures.length === 0) continue;
        failed++;
        const { way, at } = fault;
        process.stdout.write(`${nameOf(each)}, ${way}, step ${at} (${steps[at - 1]}): ${failures[0]!.slice(0, 600)}\n`);
        process.stdout.write(`again: ${again(seed, each, fault)}\n`);
      }
    };
    await Promise.all(children.map(work));
    const took = seconds(systemClock.monotonicMs() - begunMs);
    const what = `${nameOf(each)}: ${steps.length} steps, ${grouped(next)} faults, ${failed} failed (${took})`;
    say(failed > 0 ? 'failed' : 'done', 'sweep', what);
    rows.push([nameOf(each), steps.length, next, failed]);
  }
  const columns = [{ title: 'operation' }, { title: 'steps' }, { title: 'faults' }, { title: 'failed' }];
  process.stdout.write(`${tableLines(columns, rows).join('\n')}\n\n`);
  const total = (column: 2 | 3): number => rows.reduce((sum, row) => sum + row[column], 0);
  say(total(3) > 0 ? 'failed' : 'done', 'sweep', `${grouped(total(2))} faults; ${grouped(total(3))} failed`);
  return total(3) > 0 ? 1 : 0;
}

const again = (seed: number, each: Sweep, { way, at }: SweepFault): string =>
  `npm run simulate -- --sweep --seed ${seed} --only "${nameOf(each)}" --fault "${way}, ${at}" --replay`;
