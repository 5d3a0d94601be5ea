/** What every process of ours measures of itself. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, type Registry } from 'prom-client';

const LAG_RESOLUTION_MS = 10;
const LAG_QUANTILES = [0.5, 0.99, 1] as const;
const NS_PER_MS = 1e6;
const US_PER_SECOND = 1e6;

/** All is read when the metrics are. The returned function ends the measuring. */
export function observeProcess(registry: Registry): () => void {
  new Gauge({
    name: 'vouch_resident_memory_bytes',
    help: 'Memory of the process.',
    registers: [registry],
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: 'vouch_cpu_seconds_total',
    help: 'CPU time the process has taken.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / US_PER_SECOND);
    },
  });
  return observeLag(registry);
}

function observeLag(registry: Registry): () => void {
  const lag = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  lag.enable();
  new Gauge({
    name: 'vouch_event_loop_lag_seconds',
    help: 'How late the event loop was, since the last reading.',
    labelNames: ['quantile'] as const,
    registers: [registry],
    collect() {
      for (const quantile of LAG_QUANTILES) {
        // What is measured is the time between ticks, so the resolution is part of it. No tick yet: NaN.
        const ms = lag.percentile(quantile * 100) / NS_PER_MS - LAG_RESOLUTION_MS;
        this.set({ quantile }, Math.max(0, ms || 0) / 1000);
      }
      lag.reset();
    },
  });
  return () => lag.disable();
}
