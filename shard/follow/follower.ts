/**
 * A collection that this shard replays beside its owner.
 *
 * ```
 *   idle ──its owner has it open, or it is warmed──▶ opening ──▶ following ──differs from its owner──▶ diverged
 *     ▲                                                │
 *     └─────────────────────failed─────────────────────┘
 * ```
 *
 * An idle follower costs an entry in a list. A following one applies the frames that its owner publishes. It reads the
 * log if a frame is missing, or if none arrives though there are more. It answers eventual searches while its state is
 * fresh, and strong ones under the rules of `strongSearch.ts`.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../shared/errors/errors.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import { sequenceAfter } from '../../shared/log/supersededFrames.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { areReads } from '../../shared/protocol/callShapes.js';
import type { ReadCall, SearchResult, ShardCall, ShardResults } from '../../shared/protocol/calls.js';
import { ask } from '../../shared/protocol/wire.js';
import type { Ownership } from '../../shared/registry/owners.js';
import { feedSubject, followerSubject, followersSubject, shardSubject } from '../../shared/transport/subjects.js';
import type { Envelope, Serving } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { CallHandler, CallRunner } from '../answering/callRunner.js';
import type { Collection } from '../collection/collection.js';
import type { CollectionContext } from '../collection/collectionContext.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import { AppliedWaits } from './appliedWaits.js';
import { unpackFeed } from './feedMessage.js';
import { Freshness } from './freshness.js';
import type { ReadIndex } from './readIndex.js';
import { type FollowedCopy, StrongSearch } from './strongSearch.js';

export type FollowerState = 'idle' | 'opening' | 'following' | 'diverged';

/** Longest wait of `warm`. Its caller repeats the call. */
const WARM_WAIT_MS = 300;
/** An owner that does not answer within this time is asked again in the next round. */
const ASK_MS = 1_500;
/** Longest wait for a published frame; a later one counts as lost. */
const FEED_MS = 30;
/** Longest wait for the read of the log that follows. */
const LOG_READ_MS = 470;
/** Largest number of bytes of waiting frames. Beyond it all of them are dropped, and the log is read instead. */
const BUFFERED_MAX_BYTES = 32 << 20;

/** Services that the followers of a shard share. */
export interface FollowServices extends CollectionContext {
  /** Name of the shard. */
  readonly shard: string;
  readonly all: Set<Follower>;
  readonly runner: CallRunner;
  readonly readIndex: ReadIndex;
  /** A follower whose state may be older than this answers no eventual search. */
  readonly staleMs: number;
}

/** Asks another shard. Throws its error, and `unavailable`. */
export const askShard = <C extends ShardCall>(
  { transport, clock }: FollowServices,
  shard: string,
  call: C,
): Promise<ShardResults[C['op']]> =>
  ask(transport, shardSubject(shard), call, { requestId: 'follow', deadlineMs: clock.nowMs() + ASK_MS });

export class Follower implements FollowedCopy {
  #state: FollowerState = 'idle';
  #isStopped = false;
  /** The opening, once its turn has come. */
  #opening: Promise<void> | undefined;
  #listening: Serving | undefined;
  #serving: Serving | undefined;
  readonly #freshness = new Freshness();
  /** Published frames that are not applied yet. */
  #frames: StoredFrame[] = [];
  #bufferedBytes = 0;
  readonly #applied = new AppliedWaits();
  readonly #strong: StrongSearch;
  #advancing: Promise<void> | undefined;
  /** Whether the log has, or may have, a frame that did not arrive. */
  #mustRead = false;
  /** Callbacks for the next read of the log. */
  #logReadCallbacks: ((isRead: boolean) => void)[] = [];

  constructor(
    private readonly handle: CollectionHandle,
    private ownership: Ownership,
    private readonly services: FollowServices,
  ) {
    this.#strong = new StrongSearch(this, services);
    services.all.add(this);
    if (handle.openCollection !== undefined) this.open();
  }

  get config(): CollectionConfig {
    return this.handle.config;
  }

  get collectionId(): number {
    return this.config.id;
  }

  get owner(): string {
    return this.ownership.shard;
  }

  receiveOwner(ownership: Ownership): void {
    this.ownership = ownership;
  }

  get state(): FollowerState {
    return this.#state;
  }

  get hasDiverged(): boolean {
    return this.#state === 'diverged';
  }

  get isOfNoUse(): boolean {
    return this.hasDiverged || this.handle.quarantined;
  }

  /** Undefined while it does not follow. */
  get collection(): Collection | undefined {
    return this.#state === 'following' && !this.#isStopped ? this.handle.openCollection : undefined;
  }

  /** Number of events that it is behind its owner. */
  get lag(): number {
    return this.collection === undefined ? 0 : this.#freshness.lag(this.collection.journal.sequence);
  }

  /** Upper bound of the age of its state, in milliseconds. */
  get ageMs(): number {
    return this.services.clock.monotonicMs() - this.#freshness.asOfMs;
  }

  open(): void {
    if (this.#state !== 'idle' || this.#isStopped || this.handle.quarantined) return;
    this.#state = 'opening';
    void this.services.openings.inBackground(this.handle.config, () => {
      this.#opening = this.#openNow().catch((error: unknown) => this.#failed(error));
      return this.#opening;
    });
  }

  /**
   * Opens the copy, or reads the log if the copy follows already. Resolves to true if everything that was in the log at
   * the call is applied within WARM_WAIT_MS, otherwise to false.
   */
  async warm(): Promise<boolean> {
    this.open();
    if (this.#state !== 'following') return false;
    const read = new Promise<boolean>((resolve) => this.#logReadCallbacks.push(resolve));
    this.#readLog();
    return Promise.race([read, delay(WARM_WAIT_MS, false, { ref: false })]);
  }

  async reached(sequence: number): Promise<boolean> {
    if (await this.#applied.until(sequence, FEED_MS)) return true;
    const { collection } = this;
    if (collection === undefined) return false;
    if (collection.journal.seenSequence >= sequence) return true;
    this.#readLog();
    return this.#applied.until(sequence, LOG_READ_MS);
  }

  /** Whether nothing here has what event `sequence` erases. Waits for the event for a while. */
  async erased(sequence: number): Promise<boolean> {
    const { collection } = this;
    if (collection === undefined) return this.#state === 'idle';
    if (collection.journal.sequence < sequence && !(await this.reached(sequence))) return false;
    await collection.erased();
    return true;
  }

  /** Receives the owner's count of committed events, requested at `askedMs`. */
  ownerHas(sequence: number, askedMs: number): void {
    const { collection } = this;
    if (collection === undefined) return;
    // Events that the owner had a round ago and that are missing here were lost.
    if (this.#freshness.answered(askedMs, sequence, collection.journal.sequence)) this.#readLog();
  }

  /** Quarantines the copy because it differs from its owner. */
  async diverge(reason: string): Promise<void> {
    if (this.#state !== 'following') return;
    this.#state = 'diverged';
    const { logger, damages, metrics } = this.services;
    const { collectionId } = this;
    metrics.count('vouch_follower_diverged_total');
    logger.error({ collectionId, owner: this.owner, reason }, 'a follower differs from its owner; it is quarantined');
    damages.report({ collectionId, part: 'follower', reason });
    await this.#disconnect();
  }

  /** Resolves when nothing more is applied. The collection stays open. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.services.all.delete(this);
    await this.#opening;
    await this.#disconnect();
    await this.#advancing;
    for (const reader of this.#logReadCallbacks.splice(0)) reader(false);
  }

  async #openNow(): Promise<void> {
    if (this.#isStopped) return;
    const { transport } = this.services;
    // Listen before the log is read, so that no frame between the two is missed.
    this.#listening ??= await transport.listen(feedSubject(this.collectionId), (_, body) => this.#hear(body));
    const collection = await this.handle.opened();
    await collection.catchUp();
    this.handle.applyDesiredIndex();
    if (this.#isStopped) return;
    this.#state = 'following';
    this.#advance();
    this.#serving ??= await this.#serve();
  }

  /** Serves searches without a lease: each answer depends on the age of the state, or on the owner's report. */
  async #serve(): Promise<Serving> {
    const { transport, runner, shard } = this.services;
    const handler = { areCalls: areReads, assertMayRun: () => undefined, assertMayAnswer: () => undefined };
    const eventual: CallHandler<ReadCall> = {
      ...handler,
      reader: this.config,
      run: (call, envelope) => this.#read(call, envelope),
    };
    const strong: CallHandler<ReadCall> = { ...handler, run: (call, envelope) => this.#strong.run(call, envelope) };
    const served: Serving[] = [];
    const stop = async (): Promise<void> => {
      await Promise.all(served.map((serving) => serving.stop()));
    };
    const serve = async (subject: string, reads: CallHandler<ReadCall>): Promise<void> => {
      served.push(await transport.serve(subject, (message) => runner.answer(message, reads)));
    };
    try {
      await serve(followersSubject(this.collectionId), eventual);
      await serve(followerSubject(this.collectionId, shard), strong);
      return { stop };
    } catch (error) {
      await stop();
      throw error;
    }
  }

  async #read(call: ReadCall, envelope: Envelope): Promise<unknown> {
    const { collection } = this;
    const { metrics } = this.services;
    if (call.op !== 'search' || collection === undefined) throw moved();
    const { asOfMs } = this.#freshness;
    // The owner may have events that the follower does not have.
    if (call.asOf !== undefined && 'logIndex' in call.asOf && call.asOf.logIndex > collection.journal.sequence)
      throw moved();
    try {
      this.#assertFresh(asOfMs);
      const found = (await collection.run(call, envelope)) as SearchResult;
      this.#assertFresh(asOfMs);
      if (!this.#freshness.hasOwner(collection.journal.seenSequence)) throw moved();
      metrics.count('vouch_follower_searches_total', { consistency: 'eventual', outcome: 'answered' });
      return found;
    } catch (error) {
      metrics.count('vouch_follower_searches_total', { consistency: 'eventual', outcome: 'forwarded' });
      // The copy stopped or diverged during the search, so its error says nothing. The owner is asked.
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
    this.#frames.push(frame);
    this.#bufferedBytes += frame.bytes.length;
    if (this.#bufferedBytes > BUFFERED_MAX_BYTES) this.#dropFrames();
    this.#advance();
  }

  #readLog(): void {
    this.#mustRead = true;
    this.#advance();
  }

  get #hasWork(): boolean {
    return this.collection !== undefined && (this.#mustRead || this.#frames.length > 0);
  }

  #advance(): void {
    if (this.#hasWork) this.#advancing ??= this.#advanceAll();
  }

  async #advanceAll(): Promise<void> {
    try {
      while (this.#hasWork) {
        await this.#advanceOne(this.collection as Collection);
        const sequence = this.handle.openCollection?.journal.sequence ?? 0;
        this.#freshness.applied(sequence);
        this.#applied.applied(sequence);
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
      const readers = this.#logReadCallbacks.splice(0);
      let isRead = false;
      try {
        await collection.catchUp();
        isRead = true;
      } finally {
        for (const reader of readers) reader(isRead);
      }
      metrics.count('vouch_follower_log_reads_total');
      return;
    }
    const frame = this.#frames.shift();
    if (frame === undefined) return;
    this.#bufferedBytes -= frame.bytes.length;
    this.#freshness.committed((sequenceAfter(frame.bytes) ?? 1) - 1);
    if (await collection.take(frame)) metrics.count('vouch_feed_frames_total', { way: 'applied' });
    else {
      metrics.count('vouch_feed_frames_total', { way: 'missed' });
      this.#mustRead = true;
    }
  }

  /** Lets the next round retry: it reads the log, or opens the collection if its owner has it open. */
  #failed(error: unknown): void {
    const { collectionId } = this;
    if (this.#state === 'opening') this.#state = 'idle';
    this.services.logger.warn({ collectionId, error: messageOf(error) }, 'a follower failed; it is retried');
  }

  async #disconnect(): Promise<void> {
    const [listening, serving] = [this.#listening, this.#serving];
    this.#listening = undefined;
    this.#serving = undefined;
    this.#dropFrames();
    this.#strong.stop();
    await listening?.stop();
    await serving?.stop();
  }

  #dropFrames(): void {
    this.#frames = [];
    this.#bufferedBytes = 0;
  }
}
