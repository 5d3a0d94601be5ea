/** The rate limit of projects: a request takes a token of its category and one of the total, or neither. */
import { LRUCache } from 'lru-cache';
import type { ProjectRates, RateLimits } from '../../config/config.js';
import type { Clock } from '../../shared/clock.js';
import {
  fullBucket,
  learn,
  remaining,
  resetSecs,
  retryAfterSecs,
  spend,
  type TokenBucket,
  take,
  untilFullMs,
  waitMs,
} from './tokenBucket.js';

export type Category = 'read' | 'write';

/** The state of the tighter of the two buckets, after this request. */
export interface RateLimitState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSecs: number;
}

export interface Decision {
  /** Undefined if the project is not limited. */
  readonly state: RateLimitState | undefined;
  /** Whole seconds; 0: the request is admitted. */
  readonly retryAfterSecs: number;
}

/** Milliseconds until each bucket of a project is full again. */
export type UntilFull = readonly [total: number, read: number, write: number];

/** Decides about requests. The decision is a promise if another coordinator is asked. */
export interface Limiter {
  take(project: string, category: Category): Decision | Promise<Decision>;
}

/** Largest number of projects with buckets in memory; an evicted project starts again with full buckets. */
const PROJECTS_MAX = 100_000;
const UNLIMITED: Decision = { state: undefined, retryAfterSecs: 0 };

/** The limiter if no project is limited. */
export const NO_LIMITER: Limiter = { take: () => UNLIMITED };

interface Buckets {
  readonly total: TokenBucket;
  readonly read: TokenBucket;
  readonly write: TokenBucket;
}

/** Counts the requests of this process. */
export class LocalLimiter implements Limiter {
  readonly #buckets = new LRUCache<string, Buckets>({ max: PROJECTS_MAX });

  constructor(
    private readonly rates: RateLimits,
    private readonly clock: Clock,
  ) {}

  limits(project: string): boolean {
    return ratesOf(this.rates, project) !== 'off';
  }

  take(project: string, category: Category): Decision {
    const buckets = this.#bucketsOf(project);
    if (buckets === undefined) return UNLIMITED;
    const nowMs = this.clock.monotonicMs();
    const { total } = buckets;
    const own = buckets[category];
    const wait = Math.max(waitMs(total, nowMs), waitMs(own, nowMs));
    if (wait === 0) {
      take(total, nowMs);
      take(own, nowMs);
    }
    return { state: stateOf(total, own, nowMs), retryAfterSecs: wait === 0 ? 0 : retryAfterSecs(wait) };
  }

  /** Takes the tokens of requests that another coordinator has admitted. */
  granted(project: string, category: Category, count: number): void {
    const buckets = this.#bucketsOf(project);
    if (buckets === undefined) return;
    const nowMs = this.clock.monotonicMs();
    spend(buckets.total, nowMs, count);
    spend(buckets[category], nowMs, count);
  }

  /** The state of every project whose buckets are not all full. */
  known(): [project: string, UntilFull][] {
    const nowMs = this.clock.monotonicMs();
    const known: [string, UntilFull][] = [];
    for (const [project, { total, read, write }] of this.#buckets.entries()) {
      const untilFull = [total, read, write].map((bucket) => untilFullMs(bucket, nowMs)) as unknown as UntilFull;
      if (untilFull[0] > 0 || untilFull[1] > 0 || untilFull[2] > 0) known.push([project, untilFull]);
    }
    return known;
  }

  /** Merges the `known` states of another coordinator. */
  learn(known: readonly (readonly [project: string, UntilFull])[]): void {
    const nowMs = this.clock.monotonicMs();
    for (const [project, [total, read, write]] of known) {
      const buckets = this.#bucketsOf(project);
      if (buckets === undefined) continue;
      learn(buckets.total, nowMs, total);
      learn(buckets.read, nowMs, read);
      learn(buckets.write, nowMs, write);
    }
  }

  #bucketsOf(project: string): Buckets | undefined {
    const known = this.#buckets.get(project);
    if (known !== undefined) return known;
    const rates = ratesOf(this.rates, project);
    if (rates === 'off') return undefined;
    const { total, read, write } = rates;
    const buckets = { total: fullBucket(total), read: fullBucket(read), write: fullBucket(write) };
    this.#buckets.set(project, buckets);
    return buckets;
  }
}

function ratesOf(rates: RateLimits, project: string): ProjectRates | 'off' {
  if (rates === 'off') return 'off';
  const { projects } = rates;
  return projects !== undefined && Object.hasOwn(projects, project) ? projects[project]! : rates.default;
}

function stateOf(total: TokenBucket, own: TokenBucket, nowMs: number): RateLimitState {
  const bucket = remaining(total, nowMs) < remaining(own, nowMs) ? total : own;
  return { limit: bucket.burst, remaining: remaining(bucket, nowMs), resetSecs: resetSecs(bucket, nowMs) };
}
