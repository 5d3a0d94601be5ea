/** Requests per project: each takes a token of its category's bucket and one of the total, or none of either. */
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

/** Of the tighter of the two buckets, after this request. */
export interface Standing {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSecs: number;
}

export interface Decision {
  /** Undefined where the project is not limited. */
  readonly standing: Standing | undefined;
  /** Whole seconds; 0: the request may go on. */
  readonly retryAfterSecs: number;
}

/** Milliseconds until each bucket of a project is full again. */
export type UntilFull = readonly [total: number, read: number, write: number];

/** An implementation may have to ask others, so the decision may be a promise. */
export interface Limiter {
  take(project: string, category: Category): Decision | Promise<Decision>;
}

/** A project dropped for another starts again with full buckets. */
const PROJECTS_MAX = 100_000;
const UNLIMITED: Decision = { standing: undefined, retryAfterSecs: 0 };

interface Buckets {
  readonly total: TokenBucket;
  readonly read: TokenBucket;
  readonly write: TokenBucket;
}

/** Counts what this process serves. */
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
    return { standing: tighter(total, own, nowMs), retryAfterSecs: wait === 0 ? 0 : retryAfterSecs(wait) };
  }

  /** Somebody else has let so many requests of the project through. */
  granted(project: string, category: Category, count: number): void {
    const buckets = this.#bucketsOf(project);
    if (buckets === undefined) return;
    const nowMs = this.clock.monotonicMs();
    spend(buckets.total, nowMs, count);
    spend(buckets[category], nowMs, count);
  }

  /** Of every project whose buckets are not all full. */
  known(): [project: string, UntilFull][] {
    const nowMs = this.clock.monotonicMs();
    const known: [string, UntilFull][] = [];
    for (const [project, { total, read, write }] of this.#buckets.entries()) {
      const untilFull = [total, read, write].map((bucket) => untilFullMs(bucket, nowMs)) as unknown as UntilFull;
      if (untilFull[0] > 0 || untilFull[1] > 0 || untilFull[2] > 0) known.push([project, untilFull]);
    }
    return known;
  }

  /** What another has `known`, a moment ago. */
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

function tighter(total: TokenBucket, own: TokenBucket, nowMs: number): Standing {
  const bucket = remaining(total, nowMs) < remaining(own, nowMs) ? total : own;
  return { limit: bucket.burst, remaining: remaining(bucket, nowMs), resetSecs: resetSecs(bucket, nowMs) };
}
