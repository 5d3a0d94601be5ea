/** Measurements of searches of past states. */
import { unreachable } from '../../shared/errors/errors.js';
import type { Metrics } from '../../shared/metrics/metrics.js';

/** A measurement, as it is sent between threads. */
export type Measured =
  | { readonly what: 'searched'; readonly from: 'kept' | 'rebuilt' }
  | { readonly what: 'rebuilt'; readonly outcome: 'done' | 'failed'; readonly seconds: number }
  /** Estimated memory of kept states. */
  | { readonly what: 'kept'; readonly bytes: number }
  /** The thread died, and its requests failed. */
  | { readonly what: 'died' };

export function countMeasured(metrics: Metrics, measured: Measured): void {
  switch (measured.what) {
    case 'searched':
      metrics.count('vouch_as_of_searches_total', { from: measured.from });
      return;
    case 'rebuilt':
      metrics.observe('vouch_as_of_rebuild_seconds', { outcome: measured.outcome }, measured.seconds);
      return;
    case 'kept':
      metrics.set('vouch_as_of_cache_bytes', measured.bytes);
      return;
    case 'died':
      metrics.count('vouch_as_of_thread_restarts_total');
      metrics.set('vouch_as_of_cache_bytes', 0);
      return;
    default:
      unreachable(measured);
  }
}
