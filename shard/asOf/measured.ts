/** What is measured of searches of the past. */
import { unreachable } from '../../shared/errors/errors.js';
import type { Metrics } from '../../shared/metrics/metrics.js';

/** Passes between threads. */
export type Measured =
  | { readonly what: 'searched'; readonly from: 'kept' | 'rebuilt' }
  | { readonly what: 'rebuilt'; readonly outcome: 'done' | 'failed'; readonly seconds: number }
  /** Memory of the states that are kept, estimated. */
  | { readonly what: 'kept'; readonly bytes: number }
  /** The thread died, and what waited for it failed. */
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
