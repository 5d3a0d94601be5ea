/** The sweep once more with real processes and files: strace makes calls of the disk fail, and kills at them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { grouped, say, seconds } from '../../../../scripts/terminal/line.js';
import { systemClock } from '../../../../shared/clock.js';
import { OPERATIONS, type SweptOperation } from '../operations.js';
import { sample } from '../sweep.js';
import { type RealPoint, RealRun, type RealStep } from './realRun.js';
import { REAL_WAYS, whyNoStrace } from './strace.js';

/** Operations that are swept so. */
export const SWEPT = ['commit', 'roll', 'snapshot', 'shred', 'rotation', 'import'];

/** Of a failure. */
const SHOWN_CHARS = 600;

export interface RealSweepOptions {
  readonly seed: number;
  /** Of each operation, drawn from all; undefined: all of them. */
  readonly points: number | undefined;
}

export interface RealTotals {
  faults: number;
  /** The call did not come again, or it was not of the data folder. */
  missed: number;
  failed: number;
}

/** Undefined: strace follows processes here. */
export async function whyNoRealSweep(): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'vouch-sweep-'));
  try {
    return await whyNoStrace(join(folder, 'strace'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of the operations whose name holds `only`. Returns the exit code: 1 where something did not recover. */
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
    const told = (text: string): void => void process.stdout.write(`${name}, ${text}\n`);
    const { steps, totals } = await sweepOne(OPERATIONS[name]!, options, signal, told);
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

/** Throws an Error where the operation fails without a fault. */
export async function sweepOne(
  operation: SweptOperation,
  { seed, points }: RealSweepOptions,
  signal: AbortSignal,
  tell: (failure: string) => void,
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
      tell(`${point.way}, ${point.name} ${point.nth}: ${operated.hit}: ${operated.failures[0]!.slice(0, SHOWN_CHARS)}`);
    }
    return { steps: steps.length, totals };
  } finally {
    await run.close();
  }
}

/** Each way at each call. */
const pointsAt = (steps: readonly RealStep[]): RealPoint[] =>
  steps.flatMap(({ thread, name, nth }) => REAL_WAYS.map((way) => ({ thread, name, nth, way })));
