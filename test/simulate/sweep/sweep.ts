/** A sweep: every operation with a fault at each of its steps. Chance leaves points out; a sweep does not. */
import { grouped, say } from '../../../scripts/terminal/line.js';
import { tableLines } from '../../../scripts/terminal/table.js';
import type { RunOrder } from '../child.js';
import type { Child } from '../children.js';
import { OPERATIONS } from './operations.js';
import { SWEEP_WAYS } from './point.js';
import type { SweepOrder } from './sweepRun.js';

/** Faults of one world: then the next begins, which costs less than a log that grows. */
const FAULTS_MAX = 40;

export interface SweepTotals {
  faults: number;
  /** Of the way with the most. */
  steps: number;
  failed: number;
}

/** The order of one world; `from` and `every` tell at which steps. */
export const orderOf = (seed: number, sweep: SweepOrder): RunOrder => ({ seed, durationMs: 1_000, sweep });

/** Every operation in each of its modes, and each way in which its steps fail. `only`: of those whose name holds this text. */
export const sweeps = (only: string): Pick<SweepOrder, 'mode' | 'operation' | 'way'>[] =>
  Object.entries(OPERATIONS).flatMap(([operation, { modes }]) =>
    modes.flatMap((mode) =>
      `${mode} ${operation}`.includes(only) ? SWEEP_WAYS.map((way) => ({ mode, operation, way })) : [],
    ),
  );

/** Returns the exit code: 1 where something did not recover from one of the points. */
export async function sweep(
  { seed, only }: { readonly seed: number; readonly only: string },
  children: readonly Child[],
  signal: AbortSignal,
): Promise<number> {
  const orders = sweeps(only);
  const totals = new Map<string, SweepTotals>();
  let next = 0;
  const work = async (child: Child): Promise<void> => {
    while (next < orders.length && !signal.aborted) {
      const order = orders[next++]!;
      const name = `${order.mode} ${order.operation}`;
      const total = totals.get(name) ?? { faults: 0, steps: 0, failed: 0 };
      totals.set(name, total);
      await sweepAll(child, seed, order, total, signal);
    }
  };
  await Promise.all(children.map(work));
  const rows = [...totals].map(([name, { faults, steps, failed }]) => [name, steps, faults, failed] as const);
  const columns = [{ title: 'operation' }, { title: 'steps' }, { title: 'faults' }, { title: 'failed' }];
  process.stdout.write(`${tableLines(columns, rows).join('\n')}\n\n`);
  const sum = [...totals.values()].reduce((all, { faults }) => all + faults, 0);
  const failed = [...totals.values()].reduce((all, each) => all + each.failed, 0);
  say(failed > 0 ? 'failed' : 'done', 'sweep', `${grouped(sum)} faults; ${grouped(failed)} worlds failed`);
  return failed > 0 ? 1 : 0;
}

/** Every step of one operation in one way, in as many worlds as it takes. */
async function sweepAll(
  child: Child,
  seed: number,
  order: Pick<SweepOrder, 'mode' | 'operation' | 'way'>,
  total: SweepTotals,
  signal: AbortSignal,
): Promise<void> {
  const { mode, operation, way } = order;
  for (let from = 1; !signal.aborted; ) {
    const { swept, failures } = await child.run(orderOf(seed, { ...order, from, every: 1, most: FAULTS_MAX }));
    const { faults, steps, isWhole, reached } = swept!;
    total.faults += faults;
    total.steps = Math.max(total.steps, steps);
    if (failures.length > 0) {
      total.failed++;
      const where = `step ${steps} (${reached})`;
      process.stdout.write(`${mode} ${operation}, ${way}, ${where}: ${failures[0]!.slice(0, 600)}\n`);
    }
    if (isWhole) return;
    // Behind the step that the last world did not recover from.
    from += Math.max(faults, 1);
  }
}
