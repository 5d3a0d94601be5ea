/** The metrics of every process. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { onStall, stalledOp } from '../process/stalls.js';
import type { Metrics } from './metrics.js';

const LAG_RESOLUTION_MS = 10;
const NS_PER_SECOND = 1e9;
const US_PER_SECOND = 1e6;

interface Load {
  readonly requests: number;
  readonly bytes: number;
  readonly unsentBytes: number;
}

/** Measures the process; the returned function ends that. */
export function observeProcess(metrics: Metrics, transport: { readonly load: Load }): () => void {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  metrics.gauges(() => {
    // The histogram has the times between ticks, which include the resolution. It is NaN before the first tick.
    const seconds = (percent: number): number =>
      Math.max(0, lag.percentile(percent) / NS_PER_SECOND - LAG_RESOLUTION_MS / 1000 || 0);
    const lags = { '0.5': seconds(50), '0.99': seconds(99), '1': seconds(100) };
    lag.reset();
    const { requests, bytes, unsentBytes } = transport.load;
    return {
      vouch_event_loop_lag_seconds: lags,
      vouch_resident_memory_bytes: process.memoryUsage.rss(),
      vouch_nats_requests_in_flight: requests,
      vouch_nats_request_bytes_in_flight: bytes,
      vouch_nats_unsent_bytes: unsentBytes,
    };
  });
  let countedUs = 0;
  metrics.onRead(() => {
    const { user, system } = process.cpuUsage();
    metrics.count('vouch_cpu_seconds_total', (user + system - countedUs) / US_PER_SECOND);
    countedUs = user + system;
  });
  const endStalls = onStall((stall) => {
    const { thread, cause, ms } = stall;
    metrics.count(cause === 'pause' ? 'vouch_pauses_total' : 'vouch_stalls_total');
    if (cause === 'work') metrics.observe('vouch_stall_seconds', { thread, op: stalledOp(stall) }, ms / 1000);
  });
  return () => {
    endStalls();
    lag.disable();
  };
}
