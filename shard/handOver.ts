/**
 * Giving a collection to another shard while it is in use. What was answered from here is in the log before the owner entry
 * changes; from before that on, until it is known whether it has changed, nothing is answered from here.
 *
 *   serves ──▶ finishes the commit under way ──▶ answers nothing ──▶ changes the owner entry ──▶ is what that says
 *                        └── takes too long: serves on                     └── not known whether: asks until it is
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Bucket, Entry } from '../shared/bucket/bucket.js';
import type { ShardCall } from '../shared/calls.js';
import type { Clock } from '../shared/clock.js';
import { messageOf, unavailable, VouchError } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { type Ownership, ownershipOf, storedOwnership } from '../shared/owners.js';
import type { MoveMetrics } from './moveMetrics.js';
import type { Place } from './place.js';
import type { Quota } from './quota.js';

type HandOverCall = ShardCall & { readonly op: 'handOver' };

/** What is left of the caller's time for the change of the entry, when the commit under way has ended. */
const FLIP_MS = 500;
const AGAIN_MS = 100;

export interface HandOverParts {
  readonly shard: string;
  readonly owners: Bucket;
  readonly quota: Quota;
  readonly metrics: MoveMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The shard is about to end: what cannot be learned now is left to its lease. */
  readonly isEnding: () => boolean;
}

export class HandOvers {
  readonly #underWay = new Set<number>();

  constructor(private readonly parts: HandOverParts) {}

  /** Resolves when the owner entry names the other shard. Throws `conflict`, and `unavailable` where it serves on for now. */
  async handOver(place: Place | undefined, call: HandOverCall, deadlineMs: number): Promise<void> {
    const { collectionId } = call;
    if (place === undefined || place.epoch !== call.epoch || call.to === this.parts.shard) throw notOurs(call);
    if (this.#underWay.has(collectionId)) throw conflict(`collection ${collectionId} is being handed over already`);
    this.#underWay.add(collectionId);
    try {
      await this.#handOver(place, call, deadlineMs);
    } finally {
      this.#underWay.delete(collectionId);
    }
  }

  async #handOver(place: Place, call: HandOverCall, deadlineMs: number): Promise<void> {
    const { owners, clock, logger, metrics, quota } = this.parts;
    const entry = await owners.get(String(call.collectionId));
    if (entry !== undefined) void place.entryIs(ownershipOf(entry), entry.revision);
    const collection = place.owned;
    if (entry === undefined || collection === undefined || place.epoch !== call.epoch) throw notOurs(call);
    const pausedMs = clock.monotonicMs();
    if (!(await collection.pause(Math.max(deadlineMs - clock.nowMs() - FLIP_MS, 0)))) {
      collection.resume();
      throw unavailable(`a commit of collection ${call.collectionId} is under way for long; it is not handed over now`);
    }
    if (place.epoch !== call.epoch) {
      collection.resume();
      throw notOurs(call);
    }
    await place.pass();
    // What is given back of its capacity now would be taken from the next owner.
    await quota.idle();
    const isPassed = await this.#flip(place, call);
    const waitedMs = clock.monotonicMs() - pausedMs;
    metrics.handedOver(isPassed, waitedMs);
    const { collectionId, to } = call;
    if (!isPassed) throw conflict(`the owner entry of collection ${collectionId} has changed meanwhile`);
    logger.info({ collectionId, to, waitedMs: Math.round(waitedMs) }, 'a collection is handed over');
  }

  /** Whether the other shard is the owner now. The place knows what the entry says when this resolves. */
  async #flip(place: Place, call: HandOverCall): Promise<boolean> {
    const { to, followers, epoch } = call;
    const before = place.ownership as Ownership;
    const next = { ...before, shard: to, epoch: epoch + 1, followers: followers.filter((shard) => shard !== to) };
    const entry = await this.#entryAfter(String(call.collectionId), next, place.revision);
    const ownership = entry && ownershipOf(entry);
    void place.entryIs(ownership, entry?.revision ?? 0);
    await place.passed();
    return ownership?.shard === to && ownership.epoch === epoch + 1;
  }

  /**
   * What the entry says once the change has been tried: it, or what another has made of it; undefined where it is gone. An
   * attempt that is not answered may take place later, and is made again until one is, or the entry has gone on.
   */
  async #entryAfter(key: string, next: Ownership, revision: number): Promise<Entry | undefined> {
    const { owners, logger, isEnding } = this.parts;
    for (;;) {
      try {
        const changed = await owners.update(key, storedOwnership(next), revision);
        if (changed !== undefined) return { key, value: storedOwnership(next), revision: changed };
        const entry = await owners.get(key);
        // A server that led until a moment ago may still show what was there before.
        if (entry === undefined || entry.revision > revision) return entry;
      } catch (error) {
        logger.warn(
          { collectionId: key, error: messageOf(error) },
          'whether a collection is handed over is not known yet',
        );
      }
      if (isEnding()) throw unavailable('the shard ends, and it is not known whether the collection was handed over');
      await delay(AGAIN_MS);
    }
  }
}

const conflict = (message: string): VouchError => new VouchError('conflict', message);
const notOurs = ({ collectionId, epoch }: HandOverCall): VouchError =>
  conflict(`collection ${collectionId} is not owned by this shard under epoch ${epoch}`);
