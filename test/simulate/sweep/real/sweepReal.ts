/** The sweep with real processes and files: strace makes disk calls fail, and kills at them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grouped, say, seconds } from '../../../../scripts/terminal/line.js';
import { systemClock } from '../../../../shared/clock.js';
import { OPERATIONS, type SweptOperation } from '../operations.js';
import { sample } from '../sweep.js';
import { type RealPoint, RealRun, type RealStep } from './realRun.js';
import { REAL_WAYS, whyNoStrace } from './strace.js';

/** Operations in this sweep. */
export const SWEPT = ['commit', 'roll', 'snapshot', 'shred', 'rotation', 'import'];

/** Largest number of characters shown of a failure. */
const SHOWN_CHARS = 600;

export interface RealSweepOptions {
  readonly seed: number;
  /** Number of faults per operation, drawn from all; undefined: all of them. */
  readonly points: number | undefined;
}

export interface RealTotals {
  faults: number;
  /** Faults whose call did not come again, or was not to the data folder. */
  missed: number;
  failed: number;
}

/** Undefined if strace can attach to processes here. */
export async function whyNoRealSweep(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'vouch-sweep-'));
  try {
    return await whyNoStrace(join(folder, 'strace'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Sweeps the operations whose name contains `only`. Returns the exit code: 1 if something did not recover. */
export async function sweepReal(
  options: RealSweepOptions & { readonly only: string },
  signal: AbortSignal,
): Promise<number> {
  const why = await whyNoRealSweep();
  if (why !== undefined) {
    say('warning', 'sweep', `skipped: strace cannot follow processes here (${why})`);
    return 0;
  }
  const sum: RealTotals = { faults: 0, missed: 0, failed: 0 };
  for (const name of SWEPT.filter((each) => each.includes(options.only))) {
    if (signal.aborted) break;
    const begunMs = systemClock.monotonicMs();
    const print = (text: string): void => void process.stdout.write(`${name}, ${text}\n`);
    const { steps, totals } = await sweepOne(OPERATIONS[name]!, options, signal, print);
    const { faults, missed, failed } = totals;
    const took = seconds(systemClock.monotonicMs() - begunMs);
    const what = `${name}: ${steps} calls, ${grouped(faults)} faults, ${missed} missed, ${failed} failed (${took})`;
    say(failed > 0 ? 'failed' : 'done', 'sweep', what);
    for (const key of ['faults', 'missed', 'failed'] as const) sum[key] += totals[key];
  }
  const { faults, missed, failed } = sum;
  say(failed > 0 ? 'failed' : 'done', 'sweep', `${grouped(faults)} faults, ${missed} missed; ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

/** Throws an Error if the operation fails without a fault. */
export async function sweepOne(
  operation: SweptOperation,
  { seed, points }: RealSweepOptions,
  signal: AbortSignal,
  report: (failure: string) => void,
): Promise<{ readonly steps: number; readonly totals: RealTotals }> {
  const totals: RealTotals = { faults: 0, missed: 0, failed: 0 };
  const run = await RealRun.open(operation, seed);
  try {
    const { steps, failures } = await run.operate();
    if (failures.length > 0) throw new Error(`the operation fails without a fault: ${failures[0]}`);
    for (const point of sample(pointsAt(steps), seed, points)) {
      if (signal.aborted) break;
      const operated = await run.operate(point);
      if (operated.hit === undefined) totals.missed++;
      else totals.faults++;
      if (operated.failures.length === 0) continue;
      totals.failed++;
      report(
        `${point.way}, ${point.name} ${point.nth}: ${operated.hit}: ${operated.failures[0]!.slice(0, SHOWN_CHARS)}`,
      );
    }
    return { steps: steps.length, totals };
  } finally {
    await run.close();
  }
}

/** Every kind of fault at every call. */
const pointsAt = (steps: readonly RealStep[]): RealPoint[] =>
  steps.flatMap(({ thread, name, nth }) => REAL_WAYS.map((way) => ({ thread, name, nth, way })));
