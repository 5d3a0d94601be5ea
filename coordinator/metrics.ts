/** What the HTTP edge measures. The shards' own metrics are added when they are read: see `handlers/exposition.ts`. */
import { Counter, Histogram, Registry } from 'prom-client';
import { gaugesOf } from '../shared/gauges.js';
import type { RefusalReason } from '../shared/overloaded.js';
import { observeProcess } from '../shared/processMetrics.js';
import type { BodyPool } from './body/bodyPool.js';
import type { InFlight } from './limits/inFlight.js';

/** Seconds. A small search takes half a millisecond, a rebuild may take the whole deadline. */
const LATENCY_BUCKETS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

export class EdgeMetrics {
  readonly registry = new Registry();
  readonly #endObserving = observeProcess(this.registry);
  readonly #requests = new Counter({
    name: 'vouch_http_requests_total',
    help: 'Requests answered, by route and status; status "aborted" where the client went away first.',
    labelNames: ['route', 'status'] as const,
    registers: [this.registry],
    // The first of the two that are read.
    collect: () => this.#countTurnedAway(),
  });
  readonly #seconds = new Histogram({
    name: 'vouch_http_request_seconds',
    help: 'Time from the arrival of a request to its answer; not of those that are turned away at the door.',
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

  readonly #refused = new Counter({
    name: 'vouch_refused_total',
    help: 'Requests and calls that were turned away because there were too many, by the bound they met.',
    labelNames: ['reason'] as const,
    registers: [this.registry],
  });
  /** Turned away at the door since the counters were read: a counter with labels costs as much as all else there. */
  readonly #turnedAway = new Map<string, Map<RefusalReason, number>>();

  /** All is read when the metrics are. */
  constructor(underWay: Pick<InFlight, 'requests' | 'bodyBytes'>, bodies: Pick<BodyPool, 'waiting'>) {
    const gauge = gaugesOf(this.registry, () => underWay);
    gauge('vouch_http_in_flight', 'Requests under way.', (now) => now.requests);
    gauge('vouch_http_in_flight_body_bytes', 'Bytes of their bodies.', (now) => now.bodyBytes);
    gauge('vouch_bodies_waiting', 'Large bodies that wait for a thread.', () => bodies.waiting);
  }

  /** A request is over. `status` 0: the client went away. */
  ended(route: string, status: number, ms: number, bodyBytes: number): void {
    const labels = { route, status: status === 0 ? 'aborted' : status };
    this.#requests.inc(labels);
    this.#seconds.observe(labels, ms / 1000);
    if (bodyBytes > 0) this.#bodyBytes.inc(bodyBytes);
    if (status === TOO_MANY_REQUESTS) this.#rateLimited.inc({ route });
  }

  /** At the door, before anything was made for it: the time that takes is not measured. */
  turnedAway(route: string, reason: RefusalReason): void {
    let reasons = this.#turnedAway.get(route);
    if (reasons === undefined) {
      reasons = new Map();
      this.#turnedAway.set(route, reasons);
    }
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  /** A request that was turned away here; what the shards turn away they count. */
  refused(reason: RefusalReason): void {
    this.#refused.inc({ reason });
  }

  close(): void {
    this.#endObserving();
  }

  #countTurnedAway(): void {
    for (const [route, reasons] of this.#turnedAway)
      for (const [reason, count] of reasons) {
        this.#requests.inc({ route, status: SERVICE_UNAVAILABLE }, count);
        this.#refused.inc({ reason }, count);
      }
    this.#turnedAway.clear();
  }
}
