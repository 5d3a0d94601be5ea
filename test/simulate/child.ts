/**
 * The process that simulates, one cluster after another. It replaces Node's functions by simulated ones before anything
 * else loads. So no import of the product may come before it.
 */
import './world/install.js';
import type { RunOptions, RunResult } from './run.js';

/** Request of the parent process. */
export interface RunOrder extends Omit<RunOptions, 'onTrace' | 'without'> {
  readonly without?: readonly number[];
  /** Whether to send every line of the trace. */
  readonly isTraced?: boolean;
}

/** Messages to the parent process: lines of a trace, and then the result. */
export type FromChild =
  | { readonly line: string }
  | {
      readonly result: Omit<RunResult, 'faults'> & { readonly faults: Readonly<Record<string, number>> };
      readonly heapBytes: number;
    };

const { runSimulation } = await import('./run.js');

const send = (message: FromChild): void => void process.send?.(message);

process.on('message', async ({ without = [], isTraced = false, ...order }: RunOrder) => {
  const onTrace = (step: number, timeMs: number, who: string, what: string): void =>
    send({ line: `${step} ${timeMs.toFixed(3)} ${who}: ${what}` });
  const result = await runSimulation({ ...order, without: new Set(without), ...(isTraced && { onTrace }) });
  const { heapUsed: heapBytes } = process.memoryUsage();
  send({ result: { ...result, faults: Object.fromEntries(result.faults) }, heapBytes });
});
