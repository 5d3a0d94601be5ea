/** Measurements of requests at the HTTP edge. */
import type { RefusalReason } from '../../shared/errors/overloaded.js';
import type { Metrics } from '../../shared/metrics/metrics.js';

const TOO_MANY_REQUESTS = 429;
const SERVICE_UNAVAILABLE = 503;

export class EdgeMetrics {
  /** Requests refused from their head since the last reading of the metrics: a labelled counter would double the cost of a refusal. */
  readonly #turnedAway = new Map<string, Map<RefusalReason, number>>();

  constructor(private readonly metrics: Metrics) {
    metrics.onRead(() => this.#countTurnedAway());
  }

  /** Counts an ended request. `status` 0: the client closed the connection first. */
  ended(route: string, status: number, ms: number, bodyBytes: number): void {
    const { metrics } = this;
    const labels = { route, status: status === 0 ? 'aborted' : status };
    metrics.count('vouch_http_requests_total', labels);
    metrics.observe('vouch_http_request_seconds', labels, ms / 1000);
    if (bodyBytes > 0) metrics.count('vouch_http_body_bytes_total', bodyBytes);
    if (status === TOO_MANY_REQUESTS) metrics.count('vouch_http_rate_limited_total', { route });
  }

  /** Counts a request refused from its head; its duration is not measured. */
  turnedAway(route: string, reason: RefusalReason): void {
    let reasons = this.#turnedAway.get(route);
    if (reasons === undefined) {
      reasons = new Map();
      this.#turnedAway.set(route, reasons);
    }
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }

  /** Counts any other refusal of this process; shards count their own refusals. */
  refused(reason: RefusalReason): void {
    this.metrics.count('vouch_refused_total', { reason });
  }

  #countTurnedAway(): void {
    for (const [route, reasons] of this.#turnedAway)
      for (const [reason, count] of reasons) {
        this.metrics.count('vouch_http_requests_total', { route, status: SERVICE_UNAVAILABLE }, count);
        this.metrics.count('vouch_refused_total', { reason }, count);
      }
    this.#turnedAway.clear();
  }
}
