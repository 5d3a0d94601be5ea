/**
 * The process that simulates, one cluster after another. It puts simulated functions in the place of Node's before anything
 * else is loaded; so nothing of the product may be imported above.
 */
import './world/install.js';
import type { RunOptions, RunResult } from './run.js';

/** What the parent asks for. */
export interface RunOrder extends Omit<RunOptions, 'onTrace' | 'without'> {
  readonly without?: readonly number[];
  /** Whether every line of the trace is to be told. */
  readonly isTraced?: boolean;
}

/** What the child tells: lines of a trace, and then the result. */
export type FromChild =
  | { readonly line: string }
  | {
      readonly result: Omit<RunResult, 'faults'> & { readonly faults: Readonly<Record<string, number>> };
      readonly heapBytes: number;
    };

const { runSimulation } = await import('./run.js');

const tell = (told: FromChild): void => void process.send?.(told);

process.on('message', async ({ without = [], isTraced = false, ...order }: RunOrder) => {
  const onTrace = (step: number, timeMs: number, who: string, what: string): void =>
    tell({ line: `${step} ${timeMs.toFixed(3)} ${who}: ${what}` });
  const result = await runSimulation({ ...order, without: new Set(without), ...(isTraced && { onTrace }) });
  const { heapUsed: heapBytes } = process.memoryUsage();
  tell({ result: { ...result, faults: Object.fromEntries(result.faults) }, heapBytes });
});
