/**
 * What this shard is to one collection, as its owner entry has it:
 *
 *              ┌──named the owner──▶ owner ◀── under a later epoch ─┐
 *   nothing ───┤                      ▲ │ └──────────────────────────┘
 *              └──named a follower─▶ follower          (either ──named no more──▶ nothing)
 *                                     ▲ │
 *                      of the owner ──┘ └── of the follower: reads the log to its end, then serves
 *
 * One change is made after another, and the newest entry wins. From the moment on that an entry is known to name another
 * owner, or that this shard begins to name one, nothing is answered from here.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type AreCalls, areControls, areReads, areWrites } from '../shared/callShapes.js';
import { messageOf, unreachable } from '../shared/errors.js';
import type { StoredFrame } from '../shared/log/eventLog.js';
import { isLater, type Ownership, type Standing } from '../shared/owners.js';
import { everyVerb, feedSubject, verbOf } from '../shared/subjects.js';
import type { Message, Serving } from '../shared/transport/transport.js';
import type { Answering, Conditions } from './answering.js';
import type { CollectionContext } from './collection/collectionContext.js';
import { packFeed } from './follow/feedMessage.js';
import { Follower } from './follow/follower.js';
import type { FollowServices } from './follow/followServices.js';
import { HostedCollection } from './hostedCollection.js';
import { moved } from './moving.js';

export interface PlaceServices {
  /** The shard's name. */
  readonly shard: string;
  readonly context: CollectionContext;
  readonly answering: Answering;
  readonly follow: FollowServices;
  /** Called when a collection begins to be served. */
  readonly onServing: () => void;
}

interface Term {
  readonly epoch: number;
  /** Resolves when its subjects are served, or when it ended before they could be. */
  readonly serving: Promise<Serving | undefined>;
}

const AGAIN_MS = 200;

export class Place {
  #ownership: Ownership | undefined;
  /** Of the newest owner entry that was ever known. An older one, which a read may bring, is passed over. */
  #standing: Standing = { epoch: 0, revision: 0 };
  #collection: HostedCollection | undefined;
  #term: Term | undefined;
  #follower: Follower | undefined;
  /** While this shard names another owner, and until it knows whether it did. */
  #isPassing = false;
  #isStopped = false;
  #settling: Promise<void> | undefined;
  /** Subjects that are being given up: calls that came by them are still answered. */
  readonly #ending = new Set<Promise<unknown>>();

  constructor(
    readonly collectionId: number,
    private readonly services: PlaceServices,
  ) {}

  /** Undefined: the entry is gone. Resolves when this shard is what the newest entry says. */
  entryIs(ownership: Ownership | undefined, revision: number): Promise<void> {
    const standing = ownership && { epoch: ownership.epoch, revision };
    if (standing === undefined || isLater(standing, this.#standing)) {
      this.#ownership = ownership;
      this.#standing = standing ?? this.#standing;
      if (ownership !== undefined) this.#follower?.ownerIs(ownership);
      this.#feedFollowers();
    }
    return this.settled();
  }

  /** Lets go of everything; `keep` as `HostedCollection.close`. */
  async stop({ keep }: { keep: boolean }): Promise<void> {
    this.#isStopped = true;
    await this.#settling;
    await this.#letGo(keep);
    await Promise.all(this.#ending);
  }

  /** Undefined where the shard has nothing of it, not even the intent. */
  get isEmpty(): boolean {
    return this.#collection === undefined && this.#settling === undefined && this.#wanted === 'nothing';
  }

  /** Resolves when this shard is what the newest entry says. */
  settled(): Promise<void> {
    this.#settling ??= this.#settle();
    return this.#settling;
  }

  get ownership(): Ownership | undefined {
    return this.#ownership;
  }

  get revision(): number {
    return this.#standing.revision;
  }

  /** Where this shard owns it, and may say so. */
  get owned(): HostedCollection | undefined {
    return this.isServing ? this.#collection : undefined;
  }

  /** Where this shard owns it, also while it names another. */
  get held(): HostedCollection | undefined {
    return this.#term && this.#collection;
  }

  get follower(): Follower | undefined {
    return this.#follower;
  }

  /** The catalog's entry has changed. */
  indexAsDesired(): void {
    this.#collection?.indexAsDesired();
  }

  /** Under which epoch it is owned and served here. */
  get epoch(): number | undefined {
    return this.isServing ? this.#term?.epoch : undefined;
  }

  get isServing(): boolean {
    return !this.#isPassing && this.#term !== undefined && this.#isWanted(this.#term.epoch);
  }

  /** Nothing is answered from here, and nothing that waits is begun, until `passed`. No commit may be under way. */
  async pass(): Promise<void> {
    this.#isPassing = true;
    await this.#collection?.demote();
  }

  /** It is known what the owner entry says, and `entryIs` has been told. */
  async passed(): Promise<void> {
    if (this.#term !== undefined && this.#isWanted(this.#term.epoch))
      await this.#promote(this.#collection as HostedCollection);
    this.#isPassing = false;
  }

  get #wanted(): 'owner' | 'follower' | 'nothing' {
    if (this.#isStopped || this.#ownership === undefined) return 'nothing';
    const { shard } = this.services;
    if (this.#ownership.shard === shard) return 'owner';
    return this.#ownership.followers.includes(shard) ? 'follower' : 'nothing';
  }

  #isWanted(epoch: number): boolean {
    return this.#wanted === 'owner' && this.#ownership?.epoch === epoch;
  }

  async #settle(): Promise<void> {
    // What is told within one turn is one change.
    await Promise.resolve();
    try {
      while (!this.#isSettled && !this.#isStopped) await this.#step();
    } catch (error) {
      const { logger } = this.services.context;
      logger.error({ collectionId: this.collectionId, error: messageOf(error) }, 'a collection could not change hands');
    } finally {
      this.#settling = undefined;
    }
    const term = this.#term;
    if (term !== undefined && this.#isWanted(term.epoch)) await term.serving;
  }

  get #isSettled(): boolean {
    const wanted = this.#wanted;
    switch (wanted) {
      case 'owner':
        return this.#term !== undefined && this.#isWanted(this.#term.epoch);
      case 'follower':
        return this.#follower !== undefined;
      case 'nothing':
        return this.#collection === undefined;
      default:
        return unreachable(wanted);
    }
  }

  /** What is no more ends before what comes begins. */
  async #step(): Promise<void> {
    if (this.#wanted === 'nothing') return this.#letGo(false);
    if (this.#term !== undefined) return this.#endTerm();
    if (this.#wanted === 'follower') return this.#beginFollowing();
    if (this.#follower !== undefined) await this.#endFollowing();
    if (this.#wanted === 'owner') await this.#beginTerm();
  }

  async #letGo(keep: boolean): Promise<void> {
    const term = this.#term;
    const collection = this.#collection;
    this.#term = undefined;
    this.#collection = undefined;
    this.services.context.damages.forget(this.collectionId);
    // Before the subjects are given up, since their calls are answered first.
    collection?.hurry();
    await this.#endFollowing();
    await (await term?.serving)?.stop();
    await collection?.close({ keep });
  }

  async #endTerm(): Promise<void> {
    const term = this.#term;
    this.#term = undefined;
    await this.#collection?.demote();
    // Reads that are under way end when they end, as moved.
    this.#inBackground(async () => (await term?.serving)?.stop());
  }

  async #endFollowing(): Promise<void> {
    const follower = this.#follower;
    this.#follower = undefined;
    await follower?.stop();
    // What was not the owner's is no part of what the owner will be.
    if (!follower?.hasDiverged) return;
    this.services.context.damages.forget(this.collectionId);
    await this.#dropCollection();
  }

  async #dropCollection(): Promise<void> {
    const collection = this.#collection;
    this.#collection = undefined;
    await collection?.close({ keep: false });
  }

  #beginFollowing(): void {
    const ownership = this.#ownership as Ownership;
    const { context, follow } = this.services;
    this.#collection ??= new HostedCollection(ownership.collection, context, 'follower');
    this.#follower = new Follower(this.#collection, ownership, follow);
  }

  async #beginTerm(): Promise<void> {
    const { collection: config, epoch } = this.#ownership as Ownership;
    const { context, onServing } = this.services;
    const beganMs = context.clock.monotonicMs();
    const collection = this.#collection ?? new HostedCollection(config, context);
    if (this.#collection !== undefined) await this.#promote(collection);
    this.#collection = collection;
    if (!this.#isWanted(epoch)) return collection.demote();
    const term = { epoch, serving: this.#serve(collection, epoch) };
    this.#term = term;
    this.#feedFollowers();
    await term.serving;
    if (this.#term !== term) return;
    context.metrics.moves.tookOver(collection.isOpen ? 'follower' : 'idle', context.clock.monotonicMs() - beganMs);
    onServing();
  }

  async #promote(collection: HostedCollection): Promise<void> {
    const attempt = async (): Promise<void> => {
      // A quarantine is what its callers are told.
      await collection.promote().catch((error: unknown) => {
        if (!collection.quarantined) throw error;
      });
    };
    await this.#again(attempt, 'a collection cannot be taken over yet');
  }

  /** Tries until it works or is not wanted any more: nobody will tell it to again. */
  async #again(attempt: () => Promise<void>, complaint: string): Promise<void> {
    const epoch = this.#ownership?.epoch;
    while (epoch !== undefined && this.#isWanted(epoch)) {
      try {
        return await attempt();
      } catch (error) {
        const { collectionId } = this;
        this.services.context.logger.warn({ collectionId, error: messageOf(error) }, complaint);
        await delay(AGAIN_MS);
      }
    }
  }

  async #serve(collection: HostedCollection, epoch: number): Promise<Serving | undefined> {
    const { transport } = this.services.context;
    let serving: Serving | undefined;
    await this.#again(async () => {
      serving = await transport.serve(everyVerb(this.collectionId, epoch), (message) =>
        this.#answer(collection, epoch, message),
      );
    }, 'a collection is not served yet');
    return serving;
  }

  #answer(collection: HostedCollection, epoch: number, message: Message): Promise<Uint8Array> {
    const verb = verbOf(message.subject);
    const before = (): void => this.#assertServing(epoch);
    const mayHaveEffect = { before, after: this.services.answering.leaseHolds.after };
    switch (verb) {
      case 'read':
        return this.#run(message, areReads, { before, after: before }, (call, sent) =>
          this.services.context.admission.read(this.collectionId, call, () => collection.read(call, sent)),
        );
      case 'write':
        return this.#run(message, areWrites, mayHaveEffect, (call, sent) => collection.write(call, sent));
      case 'control':
        return this.#run(message, areControls, mayHaveEffect, (call, sent) => collection.control(call, sent));
      default:
        return unreachable(verb);
    }
  }

  #run<C extends { readonly op: string }>(
    message: Message,
    areCalls: AreCalls<C>,
    conditions: Conditions,
    run: (call: C, envelope: { requestId: string; deadlineMs: number }) => Promise<unknown>,
  ): Promise<Uint8Array> {
    return this.services.answering.answer(
      message,
      areCalls,
      ({ call, ...envelope }) => run(call, envelope),
      conditions,
    );
  }

  #assertServing(epoch: number): void {
    const isHere = this.isServing && this.#term?.epoch === epoch;
    if (!isHere || !this.services.answering.isLeaseValid) throw moved();
  }

  #feedFollowers(): void {
    const collection = this.#collection;
    if (collection === undefined || this.#ownership === undefined) return;
    const { epoch, followers } = this.#ownership;
    const { context, follow } = this.services;
    const tell = (committed: StoredFrame): void => {
      context.transport.publish(feedSubject(this.collectionId), packFeed(epoch, committed));
      follow.metrics.sent();
    };
    collection.feed = followers.length === 0 ? undefined : tell;
  }

  #inBackground(work: () => Promise<unknown>): void {
    const ending = work()
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}
