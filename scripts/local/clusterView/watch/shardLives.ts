/**
 * The state of each shard, by its heartbeats.
 *
 * ```text
 * absent ──heartbeat──▶ alive ──announces it──▶ leaving ──no heartbeat──▶ absent
 *   ▲                    │ ▲
 *   │   others own all   ▼ │ heartbeat
 *   └─────────────────── lost
 * ```
 */
import type { Heartbeat } from '../../../../shared/registry/owners.js';
import { counted, seconds } from '../../../terminal/line.js';
import type { News } from './news.js';

/** `leftMs`: the time until other shards may get its collections, from its last heartbeat. */
export type LeaseState =
  | { readonly kind: 'valid'; readonly leftMs: number }
  | { readonly kind: 'leaving' }
  | { readonly kind: 'none' };

interface Life {
  heartbeat: Heartbeat | undefined;
  seenMs: number;
  /** Whether it was lost, and some of its collections have no other owner yet. */
  isMissed: boolean;
}

export class ShardLives {
  readonly #lives = new Map<string, Life>();
  /** Damages already reported. */
  readonly #reported = new Set<string>();

  /** `owned`: the number of collections that a shard owns now. */
  constructor(
    private readonly owned: (shard: string) => number,
    private readonly leaseMs: number,
    private readonly news: News,
  ) {}

  get names(): string[] {
    return [...this.#lives.keys()];
  }

  /** `heartbeat` undefined: it has expired or was deleted. */
  set(shard: string, heartbeat: Heartbeat | undefined, nowMs: number): void {
    const before = this.#lives.get(shard);
    if (heartbeat === undefined) {
      if (before?.heartbeat !== undefined) this.#ended(shard, before);
      return;
    }
    this.#begun(shard, before, heartbeat, nowMs);
    this.#lives.set(shard, { heartbeat, seenMs: nowMs, isMissed: false });
    for (const { collectionId, part, reason } of heartbeat.damages) {
      const place = collectionId === null ? part : `${part} of collection ${collectionId}`;
      const text = `${shard} reports damage: ${place}: ${reason}`;
      if (this.#reported.has(text)) continue;
      this.#reported.add(text);
      this.news.add('failed', text);
    }
  }

  /** Reports ended failovers. To be called when owners have changed. */
  ownersChanged(nowMs: number): void {
    for (const [shard, life] of this.#lives) {
      if (!life.isMissed || this.owned(shard) > 0) continue;
      life.isMissed = false;
      // Counted from its last heartbeat, the best estimate of its end.
      this.news.add(
        'done',
        `failover of ${shard} took ${seconds(nowMs - life.seenMs)}: all its collections have other owners`,
      );
    }
  }

  leaseOf(shard: string, nowMs: number): LeaseState {
    const life = this.#lives.get(shard);
    if (life?.heartbeat === undefined) return { kind: 'none' };
    if (life.heartbeat.leaving) return { kind: 'leaving' };
    const leftMs = this.leaseMs - (nowMs - life.seenMs);
    return leftMs > 0 ? { kind: 'valid', leftMs } : { kind: 'none' };
  }

  #begun(shard: string, before: Life | undefined, now: Heartbeat, nowMs: number): void {
    const owned = counted(this.owned(shard), 'collection');
    if (before?.heartbeat === undefined) {
      if (before?.isMissed)
        this.news.add('done', `${shard} is back after ${seconds(nowMs - before.seenMs)} and still has ${owned}`);
      else this.news.add('done', `${shard} joined`);
    } else if (before.heartbeat.session !== now.session) this.news.add('done', `${shard} has restarted`);
    else if (now.leaving && !before.heartbeat.leaving)
      this.news.add('plain', `${shard} is leaving and hands ${owned} over`);
  }

  #ended(shard: string, life: Life): void {
    const owned = this.owned(shard);
    const wasLeaving = life.heartbeat?.leaving === true;
    life.heartbeat = undefined;
    life.isMissed = owned > 0;
    if (wasLeaving && owned === 0) this.news.add('done', `${shard} has left`);
    else
      this.news.add(
        'warning',
        `${shard} has lost its heartbeat; ${counted(owned, 'collection waits', 'collections wait')} for another owner`,
      );
  }
}
