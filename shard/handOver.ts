/**
 * Giving a collection to another shard while it is in use. What was answered from here is in the log before the owner entry
 * changes; from before that on, until it is known whether it has changed, nothing is answered from here.
 *
 *   serves ──▶ finishes the commit under way ──▶ answers nothing ──▶ changes the owner entry ──▶ is what that says
 *                        └── takes too long: serves on                     └── not known whether: asks until it is
 *
 * Whoever holds the writes holds them at this owner: while they are held nothing is handed over.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ShardCall } from '../shared/calls.js';
import type { Clock } from '../shared/clock.js';
import { messageOf, unavailable, VouchError } from '../shared/errors.js';
import { type Ownership, ownershipOf } from '../shared/owners.js';
import { severalAtOnce } from '../shared/severalAtOnce.js';
import type { Heirs } from './heirs.js';
import type { MoveMetrics } from './moveMetrics.js';
import { entryAfter, type OwnerSwapParts } from './ownerSwap.js';
import type { Place } from './place.js';
import type { Quota } from './quota.js';

type HandOverCall = ShardCall & { readonly op: 'handOver' };

/** What is left of the caller's time for the change of the entry, when the commit under way has ended. */
const FLIP_MS = 500;
const HELD_AGAIN_MS = 10;
/** As many as the coordinator that leads moves at a time. */
const AT_ONCE = 4;
const WITHIN_MS = 5_000;

export interface HandOverParts extends OwnerSwapParts {
  readonly shard: string;
  readonly quota: Quota;
  readonly metrics: MoveMetrics;
  readonly clock: Clock;
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

  /** Without anybody's word, where each has an heir. Never throws: what is not handed over now is served on. */
  async handOverTo(heirs: Heirs, places: Iterable<Place>): Promise<void> {
    const { clock, logger } = this.parts;
    await severalAtOnce([...places], AT_ONCE, async (place) => {
      const { collectionId, epoch, ownership } = place;
      const to = ownership && heirs.choose(collectionId, ownership.followers);
      if (to === undefined || epoch === undefined) return;
      const call = { op: 'handOver', collectionId, epoch, to, followers: ownership!.followers } as const;
      try {
        await this.handOver(place, call, clock.nowMs() + WITHIN_MS);
      } catch (error) {
        logger.warn({ collectionId, to, error: messageOf(error) }, 'a collection is not handed over');
      }
    });
  }

  async #handOver(place: Place, call: HandOverCall, deadlineMs: number): Promise<void> {
    const { owners, clock, logger, metrics, quota } = this.parts;
    const entry = await owners.get(String(call.collectionId));
    if (entry !== undefined) void place.entryIs(ownershipOf(entry), entry.revision);
    const collection = place.owned;
    if (entry === undefined || collection === undefined || place.epoch !== call.epoch) throw notOurs(call);
    const leftMs = (): number => Math.max(deadlineMs - clock.nowMs() - FLIP_MS, 0);
    // As soon as that ends: who rebuilds one index after another leaves little time between.
    while (collection.isHeld && leftMs() > 0) await delay(HELD_AGAIN_MS);
    if (collection.isHeld) throw held(call);
    const pausedMs = clock.monotonicMs();
    if (!(await collection.pause(leftMs()))) {
      collection.resume();
      throw unavailable(`a commit of collection ${call.collectionId} is under way for long; it is not handed over now`);
    }
    if (place.epoch !== call.epoch || collection.isHeld) {
      collection.resume();
      throw collection.isHeld ? held(call) : notOurs(call);
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
    const entry = await entryAfter(this.parts, next, place.revision);
    const ownership = entry && ownershipOf(entry);
    void place.entryIs(ownership, entry?.revision ?? 0);
    await place.passed();
    return ownership?.shard === to && ownership.epoch === epoch + 1;
  }
}

const conflict = (message: string): VouchError => new VouchError('conflict', message);
/** The next owner would know nothing of it, and take writes. */
const held = ({ collectionId }: HandOverCall): VouchError =>
  unavailable(`writes of collection ${collectionId} are held while indexes are rebuilt; it is handed over afterwards`);
const notOurs = ({ collectionId, epoch }: HandOverCall): VouchError =>
  conflict(`collection ${collectionId} is not owned by this shard under epoch ${epoch}`);
