/**
 * One collection that this shard replays beside its owner.
 *
 *   idle ──its owner has it open, or it is to be warmed──▶ opening ──▶ following ──is not what its owner is──▶ diverged
 *     ▲                                                      │
 *     └───────────────could not be: tried again──────────────┘
 *
 * While it is idle it costs an entry in a list. Then it applies the frames that the owner tells of; where one is missing,
 * or nothing is heard though there is more, it reads the log. It answers searches while its state is fresh.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { areReads } from '../../shared/callShapes.js';
import type { ReadCall, SearchResult } from '../../shared/calls.js';
import { messageOf } from '../../shared/errors.js';
import type { Ownership } from '../../shared/owners.js';
import { feedSubject, followersSubject } from '../../shared/subjects.js';
import type { Envelope, Serving } from '../../shared/transport/transport.js';
import type { Collection } from '../collection/collection.js';
import type { HostedCollection } from '../hostedCollection.js';
import { moved } from '../moving.js';
import { FeedBuffer } from './feedBuffer.js';
import { unpackFeed } from './feedMessage.js';
import type { FollowServices } from './followServices.js';
import { Freshness } from './freshness.js';

export const FOLLOWER_STATES = ['idle', 'opening', 'following', 'diverged'] as const;
export type FollowerState = (typeof FOLLOWER_STATES)[number];

/** Whoever warms asks again: that takes less than being waited for. */
const WARM_WAIT_MS = 300;

export class Follower {
  #state: FollowerState = 'idle';
  #isStopped = false;
  /** Not while it waits for its turn. */
  #opening: Promise<void> | undefined;
  #listening: Serving | undefined;
  #serving: Serving | undefined;
  readonly #freshness = new Freshness();
  readonly #feed = new FeedBuffer();
  #advancing: Promise<void> | undefined;
  /** There is something in the log that was not told, or may be. */
  #mustRead = false;
  /** Wait until the log is read. */
  #readers: ((isRead: boolean) => void)[] = [];

  constructor(
    private readonly hosted: HostedCollection,
    private ownership: Ownership,
    private readonly services: FollowServices,
  ) {
    services.all.add(this);
    if (hosted.isOpen) this.open();
  }

  get collectionId(): number {
    return this.hosted.config.id;
  }

  /** The shard that it follows. */
  get owner(): string {
    return this.ownership.shard;
  }

  ownerIs(ownership: Ownership): void {
    this.ownership = ownership;
  }

  get state(): FollowerState {
    return this.#state;
  }

  get hasDiverged(): boolean {
    return this.#state === 'diverged';
  }

  /** It can never be taken over as it is. */
  get isOfNoUse(): boolean {
    return this.hasDiverged || this.hosted.quarantined;
  }

  /** Undefined while it does not follow. */
  get collection(): Collection | undefined {
    return this.#state === 'following' && !this.#isStopped ? this.hosted.openCollection : undefined;
  }

  /** Events that it is behind its owner. */
  get lag(): number {
    return this.collection === undefined ? 0 : this.#freshness.lag(this.collection.sequence);
  }

  /** How old its state may be, in milliseconds. */
  get staleMs(): number {
    return this.services.clock.monotonicMs() - this.#freshness.asOfMs;
  }

  /** Opens it in the background, where it is not. */
  open(): void {
    if (this.#state !== 'idle' || this.#isStopped || this.hosted.quarantined) return;
    this.#state = 'opening';
    void this.services.openings.inBackground(() => {
      this.#opening = this.#openNow().catch((error: unknown) => this.#failed(error));
      return this.#opening;
    });
  }

  /** Whether all is applied that the log held when this was called. Not waited for longer than a moment. */
  async warm(): Promise<boolean> {
    this.open();
    if (this.#state !== 'following') return false;
    const read = new Promise<boolean>((resolve) => this.#readers.push(resolve));
    this.#readLog();
    return Promise.race([read, delay(WARM_WAIT_MS, false, { ref: false })]);
  }

  /** The owner, asked at `askedMs`, has committed `sequence` events. */
  ownerHas(sequence: number, askedMs: number): void {
    const { collection } = this;
    if (collection === undefined) return;
    // What was told of a round ago and is not here was missed.
    if (this.#freshness.told(askedMs, sequence, collection.sequence)) this.#readLog();
  }

  /** It is not what its owner is: it answers nothing any more. */
  async diverge(reason: string): Promise<void> {
    if (this.#state !== 'following') return;
    this.#state = 'diverged';
    const { logger, damages, metrics } = this.services;
    const { collectionId } = this;
    metrics.diverged();
    logger.error({ collectionId, owner: this.owner, reason }, 'a follower is not what its owner is; it is quarantined');
    damages.report({ collectionId, part: 'follower', reason });
    await this.#giveUp();
  }

  /** Resolves when nothing is applied any more. What is open stays open. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.services.all.delete(this);
    await this.#opening;
    await this.#giveUp();
    await this.#advancing;
    for (const reader of this.#readers.splice(0)) reader(false);
  }

  async #openNow(): Promise<void> {
    if (this.#isStopped) return;
    const { transport, answering, admission } = this.services;
    // Before the log is read, so that nothing between the two is missed.
    this.#listening ??= await transport.listen(feedSubject(this.collectionId), (_, body) => this.#hear(body));
    const collection = await this.hosted.opened();
    await collection.catchUp();
    this.hosted.indexAsDesired();
    if (this.#isStopped) return;
    this.#state = 'following';
    this.#advance();
    this.#serving ??= await transport.serve(followersSubject(this.collectionId), (message) =>
      answering.answer(
        message,
        areReads,
        ({ call, ...envelope }) => admission.read(this.collectionId, call, () => this.#answer(call, envelope)),
        ALWAYS,
      ),
    );
  }

  async #answer(call: ReadCall, envelope: Envelope): Promise<unknown> {
    const { collection } = this;
    const { metrics } = this.services;
    if (call.op !== 'search' || collection === undefined) throw moved();
    const { asOfMs } = this.#freshness;
    // What it does not have yet, the owner may.
    if (call.asOf !== undefined && 'logIndex' in call.asOf && call.asOf.logIndex > collection.sequence) throw moved();
    try {
      this.#assertFresh(asOfMs);
      const found = (await collection.read(call, envelope)) as SearchResult;
      this.#assertFresh(asOfMs);
      metrics.searched('answered');
      return found;
    } catch (error) {
      metrics.searched('passed on');
      // Of a copy that is of no use, the owner knows nothing.
      if (this.collection === undefined) throw moved();
      throw error;
    }
  }

  #assertFresh(asOfMs: number): void {
    const isFresh = this.services.clock.monotonicMs() - asOfMs <= this.services.staleMs;
    if (!isFresh || this.collection === undefined) throw moved();
  }

  #hear(body: Uint8Array): void {
    const frame = unpackFeed(body);
    if (frame === undefined || frame.epoch < this.ownership.epoch) return;
    this.#feed.add(frame);
    this.#advance();
  }

  #readLog(): void {
    this.#mustRead = true;
    this.#advance();
  }

  get #hasWork(): boolean {
    return this.collection !== undefined && (this.#mustRead || !this.#feed.isEmpty);
  }

  #advance(): void {
    if (this.#hasWork) this.#advancing ??= this.#advanceAll();
  }

  async #advanceAll(): Promise<void> {
    try {
      while (this.#hasWork) {
        await this.#advanceOne(this.collection as Collection);
        this.#freshness.applied(this.hosted.openCollection?.sequence ?? 0);
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#advancing = undefined;
    }
  }

  async #advanceOne(collection: Collection): Promise<void> {
    const { metrics } = this.services;
    if (this.#mustRead) {
      this.#mustRead = false;
      const readers = this.#readers.splice(0);
      let isRead = false;
      try {
        await collection.catchUp();
        isRead = true;
      } finally {
        for (const reader of readers) reader(isRead);
      }
      metrics.read();
      return;
    }
    const frame = this.#feed.shift();
    if (frame === undefined) return;
    if (await collection.take(frame)) metrics.applied();
    else {
      metrics.missed();
      this.#mustRead = true;
    }
  }

  /** It is tried again: by the next round where it follows, by the next that finds it open at its owner where it does not. */
  #failed(error: unknown): void {
    const { collectionId } = this;
    if (this.#state === 'opening') this.#state = 'idle';
    this.services.logger.warn({ collectionId, error: messageOf(error) }, 'a follower could not go on; it tries again');
  }

  async #giveUp(): Promise<void> {
    const [listening, serving] = [this.#listening, this.#serving];
    this.#listening = undefined;
    this.#serving = undefined;
    this.#feed.clear();
    await listening?.stop();
    await serving?.stop();
  }
}

/** What a follower may answer it knows by itself: by how old its state may be. */
const ALWAYS = { before: () => undefined, after: () => undefined };
