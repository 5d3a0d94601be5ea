/** What the HTTP edge measures. The shards' own metrics are added when they are read: see `handlers/exposition.ts`. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds. A small search takes half a millisecond, a rebuild may take the whole deadline. */
const LATENCY_BUCKETS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const LAG_RESOLUTION_MS = 10;
const LAG_QUANTILES = [0.5, 0.99, 1] as const;
const NS_PER_MS = 1e6;
const TOO_MANY_REQUESTS = 429;

export class EdgeMetrics {
  readonly registry = new Registry();
  readonly #lag: IntervalHistogram = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  readonly #requests = new Counter({
    name: 'vouch_http_requests_total',
    help: 'Requests answered, by route and status; status "aborted" where the client went away first.',
    labelNames: ['route', 'status'] as const,
    registers: [this.registry],
  });
  readonly #seconds = new Histogram({
    name: 'vouch_http_request_seconds',
    help: 'Time from the arrival of a request to its answer.',
    labelNames: ['route', 'status'] as const,
    buckets: LATENCY_BUCKETS,
    registers: [this.registry],
  });
  readonly #bodyBytes = new Counter({
    name: 'vouch_http_body_bytes_total',
    help: 'Bytes of request bodies received.',
    registers: [this.registry],
  });
  readonly #rateLimited = new Counter({
    name: 'vouch_http_rate_limited_total',
    help: 'Requests refused with 429, by route.',
    labelNames: ['route'] as const,
    registers: [this.registry],
  });

  /** `underWay` is read when the metrics are. */
  constructor(underWay: { readonly requests: number; readonly bodyBytes: number }) {
    this.#lag.enable();
    this.#gauge('vouch_http_in_flight', 'Requests under way.', () => underWay.requests);
    this.#gauge('vouch_http_in_flight_body_bytes', 'Bytes of their bodies.', () => underWay.bodyBytes);
    this.#gauge('vouch_resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
    this.#gauge('vouch_cpu_seconds', 'CPU time the process has taken.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
    this.#lagGauge();
  }

  /** A request is over. `status` 0: the client went away. */
  ended(route: string, status: number, ms: number, bodyBytes: number): void {
    const labels = { route, status: status === 0 ? 'aborted' : status };
    this.#requests.inc(labels);
    this.#seconds.observe(labels, ms / 1000);
    if (bodyBytes > 0) this.#bodyBytes.inc(bodyBytes);
    if (status === TOO_MANY_REQUESTS) this.#rateLimited.inc({ route });
  }

  close(): void {
    this.#lag.disable();
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  #lagGauge(): void {
    const lag = this.#lag;
    new Gauge({
      name: 'vouch_event_loop_lag_seconds',
      help: 'How late the event loop was, since the last reading.',
      labelNames: ['quantile'] as const,
      registers: [this.registry],
      collect() {
        for (const quantile of LAG_QUANTILES) {
          // What is measured is the time between ticks, so the resolution is part of it. No tick yet: NaN.
          const ms = lag.percentile(quantile * 100) / NS_PER_MS - LAG_RESOLUTION_MS;
          this.set({ quantile }, Math.max(0, ms || 0) / 1000);
        }
        lag.reset();
      },
    });
  }
}
