/**
 * A sweep: one short cluster again and again, each time with one of its calls of the disk failing, or its process or its
 * machine ending there. Chance leaves points out; a sweep does not.
 */
import { grouped, say } from '../../scripts/terminal/line.js';
import { showProgress } from '../../scripts/terminal/progress.js';
import type { RunOrder } from './child.js';
import type { Child, ToldResult } from './children.js';
import { SWEEP_WAYS } from './faults/point.js';

/** Long enough for commits, new segments of the registry, snapshots, index builds and shreds. */
const SWEEP_MS = 8_000;
/** Failures that are shown. */
const SHOWN_MAX = 20;

/** Returns the exit code: 1 where the cluster did not recover from one of the points. */
export async function sweep(seed: number, children: readonly Child[], signal: AbortSignal): Promise<number> {
  const order: RunOrder = { seed, durationMs: SWEEP_MS, isQuiet: true };
  const { diskCalls: count, failures } = await children[0]!.run(order);
  if (failures.length > 0) throw new Error(`the cluster of seed ${seed} fails without any fault: ${failures[0]}`);
  const points = Array.from({ length: count }, (_, i) => SWEEP_WAYS.map((way) => ({ call: i + 1, way }))).flat();
  say(
    'plain',
    'sweep',
    `${grouped(count)} calls of the disk in ${SWEEP_MS / 1_000} s of seed ${seed}, ${grouped(points.length)} points`,
  );
  const progress = showProgress('sweep', points.length, 'points');
  const failed: ToldResult[] = [];
  let next = 0;
  const work = async (child: Child): Promise<void> => {
    while (next < points.length && !signal.aborted) {
      const point = points[next++]!;
      const result = await child.run({ ...order, point });
      progress.advance(1);
      if (result.failures.length === 0) continue;
      failed.push(result);
      if (failed.length <= SHOWN_MAX)
        process.stdout.write(
          `call ${point.call}, ${point.way} (${result.pointPath}): ${result.failures[0]!.slice(0, 600)}\n`,
        );
    }
  };
  await Promise.all(children.map(work));
  progress.finish();
  say(failed.length > 0 ? 'failed' : 'done', 'sweep', `${grouped(next)} points; ${grouped(failed.length)} failed`);
  return failed.length > 0 ? 1 : 0;
}
