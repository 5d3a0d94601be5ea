/**
 * This shard's replica of one collection, as the owner entry says.
 *
 * ```
 *   nothing ──named the owner──▶ owner
 *   nothing ──named a follower──▶ follower
 *   owner ──the entry changes──▶ changing
 *   follower ──named the owner──▶ changing
 *   changing ──named the owner: reads the log to its end──▶ owner
 *   changing ──named a follower──▶ follower
 *   owner, follower, changing ──not named any more──▶ nothing
 * ```
 *
 * Changes are made one after another, and the newest entry wins. Once an entry is known to name another owner, or this shard
 * begins to name one, no call begins here. A read in flight is then answered `moved`; a write in flight gets its outcome.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, unreachable } from '../../shared/errors/errors.js';
import { type AreCalls, areControls, areReads, areWrites } from '../../shared/protocol/callShapes.js';
import type { Call } from '../../shared/protocol/calls.js';
import type { Ownership } from '../../shared/registry/owners.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { everyVerb, feedSubject, type Verb, verbOf } from '../../shared/transport/subjects.js';
import type { Serving } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { CallHandler } from '../answering/callRunner.js';
import type { Lease } from '../answering/lease.js';
import type { CollectionContext } from '../collection/collectionContext.js';
import { CollectionHandle } from '../collection/collectionHandle.js';
import { packFeed } from '../follow/feedMessage.js';
import type { FollowServices } from '../follow/follower.js';
import { Follower } from '../follow/follower.js';
import { onceErased } from '../follow/followersErased.js';
import { assertGivenUp } from './formerOwner.js';

export interface ReplicaServices {
  /** The shard's name. */
  readonly shard: string;
  readonly context: CollectionContext;
  readonly lease: Lease;
  readonly follow: FollowServices;
  /** Called when a collection begins to be served. */
  readonly onServing: () => void;
}

/** An ownership of this shard. A later one is another object. */
interface Owner {
  readonly kind: 'owner';
  readonly handle: CollectionHandle;
  readonly epoch: number;
  /** Resolves when calls are served; to undefined if the ownership ended before. */
  readonly serving: Promise<Serving | undefined>;
}

interface Following {
  readonly kind: 'follower';
  readonly handle: CollectionHandle;
  readonly follower: Follower;
}

type ReplicaState =
  | { readonly kind: 'nothing' }
  /** Between two roles: the collection stays in memory. */
  | { readonly kind: 'changing'; readonly handle: CollectionHandle }
  | Owner
  | Following;

const NOTHING: ReplicaState = { kind: 'nothing' };

const CALLS_OF: Readonly<Record<Verb, AreCalls<Call>>> = { read: areReads, write: areWrites, control: areControls };

export class CollectionReplica {
  /** Only `#converge` changes it, and `stop` after that. */
  #state: ReplicaState = NOTHING;
  #ownership: Ownership | undefined;
  /** Revision of the newest owner entry so far. Older entries are ignored. */
  #revision = 0;
  /** Whether this shard changes the owner entry to another owner, or does not know yet whether it has. May outlast the ownership. */
  #isTransferring = false;
  /** Set once by `stop`. */
  #isStopped = false;
  #converging: Promise<void> | undefined;
  /** Ends of former ownerships, each of which resolves when the calls in flight are answered. */
  readonly #ending = new Set<Promise<unknown>>();

  constructor(
    readonly collectionId: number,
    private readonly services: ReplicaServices,
  ) {}

  /** Receives the owner entry; undefined if it is deleted. Resolves when this shard has the role that the newest entry gives it. */
  receiveEntry(ownership: Ownership | undefined, revision: number): Promise<void> {
    if (ownership === undefined || revision > this.#revision) {
      this.#ownership = ownership;
      if (ownership !== undefined) this.#revision = revision;
      if (ownership !== undefined) this.follower?.receiveOwner(ownership);
      this.#feedFollowers();
    }
    return this.converged();
  }

  /** Ends every role, and closes the collection. `keep`: see `CollectionHandle.close`. */
  async stop({ keep }: { keep: boolean }): Promise<void> {
    this.#isStopped = true;
    await this.#converging;
    await this.#release(keep);
    await Promise.all(this.#ending);
  }

  /** Whether the shard has no role in the collection, gets none by the newest entry, and has no change of roles in progress. */
  get isEmpty(): boolean {
    const isIdle = this.#state.kind === 'nothing' && this.#converging === undefined && !this.#isTransferring;
    return isIdle && this.#wanted === 'nothing';
  }

  /** Resolves when this shard has the role that the newest entry gives it. */
  converged(): Promise<void> {
    this.#converging ??= this.#converge();
    return this.#converging;
  }

  get ownership(): Ownership | undefined {
    return this.#ownership;
  }

  get revision(): number {
    return this.#revision;
  }

  /** The collection, if this shard owns it and may answer for it. */
  get owned(): CollectionHandle | undefined {
    return this.isServing ? this.#handle : undefined;
  }

  /** The collection, if this shard owns it, also during a transfer. */
  get ownedOrInTransfer(): CollectionHandle | undefined {
    return this.#owner?.handle;
  }

  get follower(): Follower | undefined {
    return this.#state.kind === 'follower' ? this.#state.follower : undefined;
  }

  applyDesiredIndex(): void {
    this.#handle?.applyDesiredIndex();
  }

  /** Call it when the failures of the collection's openings have changed. */
  checkFailedOpenings(): void {
    this.#handle?.checkFailedOpenings();
  }

  /** Epoch under which this shard serves the collection as its owner; undefined if it does not. */
  get epoch(): number | undefined {
    return this.isServing ? this.#owner?.epoch : undefined;
  }

  get isServing(): boolean {
    return !this.#isTransferring && this.#wantedOwner !== undefined;
  }

  /** Stops answering until `endTransfer`. Call it while no commit runs. */
  async beginTransfer(): Promise<void> {
    this.#isTransferring = true;
    await this.#handle?.demote();
  }

  /** Ends a transfer. Call it after `receiveEntry` has received its outcome: if this shard is still the owner, it serves again. */
  async endTransfer(): Promise<void> {
    const owner = this.#wantedOwner;
    if (owner !== undefined) await this.#promote(owner.handle);
    this.#isTransferring = false;
  }

  get #handle(): CollectionHandle | undefined {
    return this.#state.kind === 'nothing' ? undefined : this.#state.handle;
  }

  get #owner(): Owner | undefined {
    return this.#state.kind === 'owner' ? this.#state : undefined;
  }

  /** The ownership, if it is that of the newest entry. */
  get #wantedOwner(): Owner | undefined {
    const owner = this.#owner;
    return owner !== undefined && this.#isWanted(owner.epoch) ? owner : undefined;
  }

  /** Role that the newest entry gives this shard. */
  get #wanted(): 'owner' | 'follower' | 'nothing' {
    if (this.#isStopped || this.#ownership === undefined) return 'nothing';
    const { shard } = this.services;
    if (this.#ownership.shard === shard) return 'owner';
    return this.#ownership.followers.includes(shard) ? 'follower' : 'nothing';
  }

  /** Whether the newest entry makes this shard the owner of this epoch. */
  #isWanted(epoch: number): boolean {
    return this.#wanted === 'owner' && this.#ownership?.epoch === epoch;
  }

  /** Changes roles until this shard has the one of the newest entry. */
  async #converge(): Promise<void> {
    // Entries that arrive within one turn are one change.
    await Promise.resolve();
    try {
      while (!this.#isConverged && !this.#isStopped) await this.#step();
    } catch (error) {
      const { logger } = this.services.context;
      logger.error(
        { collectionId: this.collectionId, error: messageOf(error) },
        'this shard could not change its role for a collection',
      );
    } finally {
      this.#converging = undefined;
    }
    const owner = this.#wantedOwner;
    if (owner !== undefined) await owner.serving;
  }

  get #isConverged(): boolean {
    const wanted = this.#wanted;
    switch (wanted) {
      case 'owner':
        return this.#wantedOwner !== undefined;
      case 'follower':
      case 'nothing':
        return this.#state.kind === wanted;
      default:
        return unreachable(wanted);
    }
  }

  /** Ends the present role before the next one begins. */
  async #step(): Promise<void> {
    const state = this.#state;
    if (this.#wanted === 'nothing') return this.#release(false);
    if (state.kind === 'owner') return this.#endOwnership(state);
    if (this.#wanted === 'follower') return this.#beginFollowing();
    if (state.kind === 'follower') await this.#endFollowing(state);
    if (this.#wanted === 'owner') await this.#beginOwnership();
  }

  async #release(keep: boolean): Promise<void> {
    const state = this.#state;
    const handle = this.#handle;
    this.#state = NOTHING;
    this.services.context.damages.forget(this.collectionId);
    // Cancel before serving stops: calls in flight are answered first, and may wait for this work.
    handle?.cancelBackgroundWork();
    await this.#stopFollower(state.kind === 'follower' ? state.follower : undefined);
    try {
      const serving = state.kind === 'owner' ? await state.serving : undefined;
      await serving?.stop();
    } finally {
      await handle?.close({ keep });
    }
  }

  async #endOwnership({ handle, serving }: Owner): Promise<void> {
    this.#state = { kind: 'changing', handle };
    await handle.demote();
    // Calls in flight are answered in the background: reads by `moved`.
    const ending = (async () => (await serving)?.stop())()
      .catch(() => undefined)
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  async #endFollowing({ handle, follower }: Following): Promise<void> {
    this.#state = { kind: 'changing', handle };
    if (!(await this.#stopFollower(follower))) return;
    // A state that differs from its owner's must not become that of the next owner.
    this.#state = NOTHING;
    await handle.close({ keep: false });
  }

  /** Stops a follower. Returns true if its state differs from the owner's. */
  async #stopFollower(follower: Follower | undefined): Promise<boolean> {
    await follower?.stop();
    if (!follower?.hasDiverged) return false;
    this.services.context.damages.forget(this.collectionId);
    return true;
  }

  #beginFollowing(): void {
    const ownership = this.#ownership as Ownership;
    const { context, follow } = this.services;
    const handle = this.#handle ?? new CollectionHandle(ownership.collection, context, 'follower');
    this.#state = { kind: 'follower', handle, follower: new Follower(handle, ownership, follow) };
  }

  async #beginOwnership(): Promise<void> {
    const { collection: config, epoch, takenFrom = [], mayGetAppends = false } = this.#ownership as Ownership;
    const { context, onServing } = this.services;
    const beganMs = context.clock.monotonicMs();
    for (const former of takenFrom)
      await this.#untilDone('the former owner has a heartbeat and does not answer yet', () =>
        assertGivenUp(former, this.collectionId, this.services),
      );
    const existing = this.#handle;
    const handle = existing ?? new CollectionHandle(config, context);
    handle.beginOwnership(mayGetAppends);
    if (existing !== undefined) await this.#promote(existing);
    this.#state = { kind: 'changing', handle };
    if (!this.#isWanted(epoch)) return handle.demote();
    const owner: Owner = { kind: 'owner', handle, epoch, serving: this.#serve(handle, epoch) };
    this.#state = owner;
    this.#feedFollowers();
    await owner.serving;
    if (this.#state !== owner) return;
    const isOpen = handle.openCollection !== undefined;
    const seconds = (context.clock.monotonicMs() - beganMs) / 1000;
    context.metrics.observe('vouch_takeover_seconds', { as: isOpen ? 'follower' : 'idle' }, seconds);
    onServing();
  }

  /** Makes the state in memory that of an owner: it then has all answered writes. */
  async #promote(handle: CollectionHandle): Promise<void> {
    await this.#untilDone('a collection cannot be taken over yet', async () => {
      // Callers of a quarantined collection get the reason.
      await handle.promote().catch((error: unknown) => {
        if (!handle.quarantined) throw error;
      });
    });
  }

  /** Repeats an attempt until it succeeds, or this ownership is no longer that of the newest entry. */
  async #untilDone(complaint: string, attempt: () => Promise<void>): Promise<void> {
    const epoch = this.#ownership?.epoch;
    while (epoch !== undefined && this.#isWanted(epoch)) {
      try {
        return await attempt();
      } catch (error) {
        const { collectionId } = this;
        this.services.context.logger.warn({ collectionId, error: messageOf(error) }, complaint);
        await delay(RETRY_MS.replica);
      }
    }
  }

  async #serve(handle: CollectionHandle, epoch: number): Promise<Serving | undefined> {
    const { context, follow } = this.services;
    const handlers = this.#handlers(handle, epoch);
    let serving: Serving | undefined;
    await this.#untilDone('a collection is not served yet', async () => {
      serving = await context.transport.serve(everyVerb(this.collectionId, epoch), (message) =>
        follow.runner.answer(message, handlers[verbOf(message.subject)]),
      );
    });
    return serving;
  }

  /**
   * A read that ends after the ownership is answered `moved`, and its caller repeats it at the next owner. Other calls may have
   * taken effect, so their outcome is answered while the lease is valid.
   */
  #handlers(handle: CollectionHandle, epoch: number): Record<Verb, CallHandler<Call>> {
    const { lease, context } = this.services;
    const isDue = (): boolean => handle.openCollection?.state.expiries.isDue(context.clock.nowMs()) ?? false;
    const assertMayRun = (): void => {
      if (this.epoch !== epoch || !lease.valid) throw moved();
    };
    const handler = (verb: Verb, assertMayAnswer: () => void): CallHandler<Call> => ({
      areCalls: CALLS_OF[verb],
      reader: handle.config,
      assertMayRun,
      assertMayAnswer,
      run: (call, envelope) => {
        const result = verb === 'read' ? handle.read(call, envelope) : handle.run(call, envelope);
        if (call.op !== 'shredKey') return result;
        return onceErased(this.services.follow, this.collectionId, result, () => this.#ownership?.followers ?? []);
      },
    });
    const assertLease = (): void => lease.assertValid();
    return {
      read: { ...handler('read', assertMayRun), ready: () => (isDue() ? handle.expire() : undefined) },
      write: handler('write', assertLease),
      control: handler('control', assertLease),
    };
  }

  /**
   * Publishes committed frames to followers while this shard is the owner and has its lease. Without them, followers could show a
   * late commit before the next owner does.
   */
  #feedFollowers(): void {
    const handle = this.#handle;
    if (handle === undefined || this.#ownership === undefined) return;
    const { epoch, followers } = this.#ownership;
    const { context, follow, lease } = this.services;
    const publish: CollectionHandle['feed'] = (committed) => {
      if (!lease.valid) return;
      context.transport.publish(feedSubject(this.collectionId), packFeed(epoch, committed));
      follow.metrics.count('vouch_feed_frames_total', { way: 'sent' });
    };
    handle.feed = this.#wantedOwner !== undefined && followers.length > 0 ? publish : undefined;
  }
}
