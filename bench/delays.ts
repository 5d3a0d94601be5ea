import { monitorEventLoopDelay } from 'node:perf_hooks';
import { systemClock } from '../shared/clock.js';

const NANOSECONDS_PER_MS = 1e6;

interface Delayed<T> {
  readonly result: T;
  readonly ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Runs `work`, and measures its time and the delays of the event loop meanwhile. */
export async function withDelays<T>(work: () => Promise<T>): Promise<Delayed<T>> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  const startedMs = systemClock.monotonicMs();
  delays.enable();
  const result = await work().finally(() => delays.disable());
  const ms = systemClock.monotonicMs() - startedMs;
  return { result, ms, p99Ms: delays.percentile(99) / NANOSECONDS_PER_MS, maxMs: delays.max / NANOSECONDS_PER_MS };
}
