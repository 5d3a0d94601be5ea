/**
 * A collection on its shard, as owner or as follower. The first call opens it; until then only its name is in memory. It stays
 * open when its role changes. Its states: `handleState.ts`.
 */
import { messageOf, type VouchError } from '../../shared/errors/errors.js';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { type LogCount, NOTHING_COUNTED } from '../../shared/log/logCount.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { IndexKind } from '../../shared/model/indexSpec.js';
import { type HeldBytes, NOTHING_HELD, totalHeld } from '../../shared/model/quotas.js';
import type { Call, ShownState } from '../../shared/protocol/calls.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import type { Use } from '../capacity/quota.js';
import type { Feed } from '../state/journal.js';
import { assertBegins, assertReaches, WHAT_TO_DO } from '../state/truncatedLog.js';
import { Collection } from './collection.js';
import type { CollectionContext } from './collectionContext.js';
import {
  afterDamage,
  afterDemotion,
  afterFailedOpening,
  afterOpening,
  afterPromotion,
  type Former,
  type HandleState,
  latestOf,
  Opening,
  openingOf,
  openOf,
  type Quarantined,
} from './handleState.js';
import { Quarantine } from './quarantine.js';
import { StoredCounts } from './storedCounts.js';

/** Another object after every change of the role, so that work begun under an earlier role notices. */
type Role = { readonly kind: 'follower' } | OwnerRole;

interface OwnerRole {
  readonly kind: 'owner';
  /** Whether no commit may begin. */
  isPaused: boolean;
}

export class CollectionHandle {
  #state: HandleState = { kind: 'idle', former: undefined };
  /** A serving collection implies the role of the owner. */
  #role: Role;
  /** No opening begins any more; running calls are still answered. Never reset. A closed collection implies it. */
  #isClosing = false;
  readonly #counts: StoredCounts;
  /** The feed of the next journal that serves; the journal of a serving collection has it already. */
  #feed: Feed | undefined;
  /** See `Journal.beginOwnership`. Decides only while no journal is in memory. */
  #othersUntilMs: number | undefined;

  constructor(
    readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    role: Role['kind'] = 'owner',
  ) {
    this.#role = role === 'owner' ? { kind: 'owner', isPaused: false } : { kind: 'follower' };
    this.#counts = new StoredCounts(config, context, (damage) => this.#quarantine(damage));
  }

  /** Runs a call on the owned collection, which it opens first if necessary. */
  async run(call: Call, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    if (call.op === 'shredKey') this.#beforeShred(call.keyId);
    const collection = this.#serving ?? (await this.opened());
    this.#assertServes(collection);
    return collection.run(call, envelope);
  }

  /** Runs a read. Removes the records first that have expired, since an answer must not have them. */
  async read(call: Call, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    const collection = this.#serving ?? (await this.opened());
    this.#assertServes(collection);
    if (collection.state.expiries.isDue(this.context.clock.nowMs())) await this.expire();
    return collection.run(call, envelope);
  }

  /**
   * Removes the records that have expired. Opens the collection for that if necessary. Returns the time of the next expiry,
   * +∞ without one. Throws like `run`.
   */
  async expire(): Promise<number> {
    const collection = this.#serving ?? (await this.opened());
    this.#assertServes(collection);
    await collection.expire();
    this.#assertServes(collection);
    return collection.state.expiries.nextMs;
  }

  /** Only a serving collection is up to date. */
  #assertServes(collection: Collection): void {
    if (this.#serving !== collection) throw this.#quarantineError ?? moved();
  }

  /** Reads only the end of the log, if the collection is not open. Returns zeros if the log does not verify. */
  async count(): Promise<LogCount> {
    const { openCollection } = this;
    if (openCollection !== undefined) return openCollection.count();
    return this.quarantined ? NOTHING_COUNTED : this.#counts.count();
  }

  /**
   * Returns the bytes that the collection takes besides its log. If it is not open, its watermark has them. If the watermark is
   * behind the log, as after a crash, the collection is opened. Returns zeros if the log does not verify.
   */
  async heldBytes(): Promise<HeldBytes> {
    if (this.openCollection !== undefined) return this.openCollection.heldBytes;
    const { sequence } = await this.count();
    if (this.quarantined || sequence === 0) return NOTHING_HELD;
    return (await this.#counts.heldBytes(sequence)) ?? (await this.opened()).heldBytes;
  }

  /** Returns what must stay reserved: stored and being committed. */
  async inUse(): Promise<Use> {
    if (this.quarantined) return 'all';
    // `settle` counts again once that is of use.
    if (this.openCollection === undefined && this.#counts.known !== undefined && !this.#counts.isFinal)
      return 'unknown';
    const held = await this.heldBytes();
    const { records, logBytes } = await this.count();
    if (this.quarantined) return 'all';
    if (this.openCollection !== undefined) return this.openCollection.inUse;
    return this.#counts.isFinal && this.#othersUntilMs === undefined
      ? { records, bytes: totalHeld(held) + logBytes }
      : 'unknown';
  }

  /** The sequence of the last event; undefined while an earlier owner may have committed more. Reads like `count`. */
  async sequence(): Promise<number | undefined> {
    const { sequence } = await this.count();
    if (this.openCollection !== undefined) return this.openCollection.count().sequence;
    return this.#counts.isFinal ? sequence : undefined;
  }

  /** Learns what earlier owners have added to the log late, once they cannot any more. Counts, so that `inUse` does not wait. */
  async settle(): Promise<void> {
    const isOver = this.#othersUntilMs !== undefined && this.context.clock.monotonicMs() >= this.#othersUntilMs;
    // An opening may have read the log too early; its journal settles that.
    if (isOver && openingOf(this.#state) === undefined) {
      this.#othersUntilMs = undefined;
      this.#counts.forget();
    }
    await this.openCollection?.settle();
    await this.count();
    await this.inUse();
  }

  /** Live records, as far as they are known without reading anything. */
  get knownRecords(): number {
    return this.openCollection?.count().records ?? this.#counts.known?.records ?? 0;
  }

  /** The index that serves searches, or that will once the collection is open. */
  get serving(): IndexKind | 'brute' {
    return this.openCollection?.index.serving ?? this.context.indexes.store.kindOf(this.config.id) ?? 'brute';
  }

  get quarantined(): boolean {
    return this.#state.kind === 'quarantined';
  }

  /** Undefined while the collection is not open. */
  get openCollection(): Collection | undefined {
    return openOf(this.#state);
  }

  /** The state that searches of the owned collection see now; undefined while it does not serve. */
  get shown(): ShownState | undefined {
    const collection = this.#serving;
    return collection && { sequence: collection.journal.seenSequence, index: collection.index.servingSpec };
  }

  /** Whether its writes wait for the end of a `hold` call. */
  get isHeld(): boolean {
    return this.openCollection?.isHeld ?? false;
  }

  /** Receives every frame that is committed here; undefined while the collection has no follower. */
  set feed(feed: Feed | undefined) {
    this.#feed = feed;
    if (this.#serving !== undefined) this.#serving.journal.feed = feed;
  }

  /** Begins the ownership of the collection. `mayOthersAppend`: an append of an earlier owner may be on its way to the log. */
  beginOwnership(mayOthersAppend: boolean): void {
    const { logs, clock } = this.context;
    const isClear = !mayOthersAppend || logs.lateMs === 0;
    const nowMs = clock.monotonicMs();
    this.#counts.beginOwnership(nowMs);
    this.#othersUntilMs = isClear ? undefined : nowMs + logs.lateMs;
    latestOf(this.#state)?.journal.beginOwnership(this.#othersUntilMs);
    this.checkFailedOpenings();
  }

  /** Quarantines an owned collection whose openings have failed too often, or releases it once these failures are deleted. */
  checkFailedOpenings(): void {
    if (this.#isClosing) return;
    try {
      this.context.openings.assertMayOpen(this.config.id);
      const state = this.#state;
      if (state.kind === 'quarantined' && state.quarantine.part === 'opening')
        this.#endQuarantine(state, 'its failed openings are forgotten');
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      if (!this.quarantined && this.#role.kind === 'owner') this.#quarantine(error);
    }
  }

  /** Whether an append of this owner, or of an earlier one, may be on its way to the log. */
  get mayGetAppends(): boolean {
    const latest = latestOf(this.#state);
    if (latest === undefined) return this.#othersUntilMs !== undefined;
    const { isAlone, isUnsettled } = latest.journal;
    return !isAlone || isUnsettled;
  }

  /**
   * Makes this shard the owner. When this resolves, an open collection has everything applied that the log holds; a quarantined
   * one stays quarantined. Throws `unavailable` if the log could not be read; it may then be called again.
   */
  async promote(): Promise<void> {
    if (this.#serving !== undefined) return;
    const role: OwnerRole = { kind: 'owner', isPaused: false };
    this.#role = role;
    this.checkFailedOpenings();
    // The opening may have begun before the last commit of the earlier owner.
    const collection = await openingOf(this.#state)?.result.catch(() => undefined);
    if (collection === undefined || this.quarantined) return;
    await collection.takeOver();
    if (role !== this.#role || this.openCollection !== collection) return;
    this.#serve(role);
    this.applyDesiredIndex();
  }

  /** Makes this shard a follower. Waiting writes are answered as moved; resolves when the running commit has ended. */
  async demote(): Promise<void> {
    this.#role = { kind: 'follower' };
    this.#state = afterDemotion(this.#state);
    this.#counts.forget();
    await latestOf(this.#state)?.demote();
  }

  /**
   * Quarantines the collection if its log has lost committed events. `loss`: the reason, if a loss is known already of a log that
   * held events. Throws the quarantine, or `unavailable` if the log could not be read.
   */
  async assertStored(loss: string | undefined): Promise<void> {
    if (this.quarantined || this.#isClosing) return;
    const open = await openingOf(this.#state)?.result.catch(() => undefined);
    if (open !== undefined) return open.assertStored(loss);
    const { context, config } = this;
    const noted = await context.watermarks.read(config.id);
    if (noted === undefined) return;
    try {
      if (loss !== undefined) throw new Damaged(`${loss}; ${WHAT_TO_DO}`);
      const log = await noticingDamage(() => context.logs.open(config.id));
      try {
        await assertReaches(
          log,
          config.id,
          { sequence: noted.sequence, known: `event ${noted.sequence} was committed` },
          context.clock,
        );
        await assertBegins(log);
      } finally {
        await log.close();
      }
    } catch (error) {
      throw error instanceof Damaged && !this.#isClosing ? this.#quarantine(error) : error;
    }
  }

  /** Gives an open collection the index that its catalog entry asks for; another shard may have changed the entry. */
  applyDesiredIndex(): void {
    const { id: collectionId } = this.config;
    this.openCollection?.index.reloadDesired().catch((error: unknown) => {
      this.context.logger.warn({ collectionId, error: messageOf(error) }, 'the desired index could not be applied yet');
    });
  }

  /** Resolves to whether no commit runs any more. New writes wait until `resume`. */
  async pause(withinMs: number): Promise<boolean> {
    if (this.#role.kind === 'owner') this.#role.isPaused = true;
    return latestOf(this.#state)?.pause(withinMs) ?? true;
  }

  resume(): void {
    if (this.#role.kind === 'owner') this.#role.isPaused = false;
    latestOf(this.#state)?.resume();
  }

  /** Ends the work that `close` would wait for. Called before the subjects are given up, as their calls are answered first. */
  cancelBackgroundWork(): void {
    this.#isClosing = true;
    this.openCollection?.cancelBackgroundWork();
  }

  /**
   * Finishes the running commit, answers waiting writes as moved, and frees the memory. `keep`: this shard will open the
   * collection again. Without it, saved indexes and snapshots are removed.
   */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#isClosing = true;
    const collection = await openingOf(this.#state)?.result.catch(() => undefined);
    this.#state = { kind: 'closed' };
    await collection?.close({ keep });
    if (keep) return;
    await this.context.indexes.store.removeAll(this.config.id);
    await this.context.snapshots?.store.removeAll(this.config.id);
  }

  /** Opens the collection if it is not open. Throws if it is quarantined or cannot be opened. */
  async opened(): Promise<Collection> {
    const state = this.#state;
    if (state.kind === 'quarantined') throw state.quarantine.error;
    if (state.kind === 'closed' || this.#isClosing) throw moved();
    return state.kind === 'idle' ? this.#open(state.former) : state.opening.result;
  }

  get #serving(): Collection | undefined {
    const state = this.#state;
    return state.kind === 'serving' ? state.collection : undefined;
  }

  get #quarantineError(): VouchError | undefined {
    const state = this.#state;
    return state.kind === 'quarantined' ? state.quarantine.error : undefined;
  }

  /** `after`: the opening begins when it resolves. */
  #open(former: Former, after?: Promise<void>): Promise<Collection> {
    const opening = new Opening((self) => after?.then(() => this.#openNow(self)) ?? this.#openNow(self));
    this.#state = { kind: 'opening', opening, former };
    return opening.result;
  }

  async #openNow(opening: Opening): Promise<Collection> {
    const { config, context } = this;
    const { openings } = context;
    const role = this.#role;
    const toOwn = role.kind === 'owner';
    const onDamage = (damage: Damaged): VouchError => this.#quarantine(damage);
    try {
      const open = (): Promise<Collection> =>
        openings.noted(config.id, () => Collection.open(config, context, onDamage, toOwn));
      const collection = await (toOwn ? openings.asked(config, open) : open());
      collection.journal.beginOwnership(this.#othersUntilMs);
      this.#state = afterOpening(this.#state, opening, collection);
      this.#counts.forget();
      // A shard that became the owner meanwhile has to catch up first: see `promote`.
      if (toOwn && role === this.#role && this.openCollection === collection) this.#serve(role);
      return collection;
    } catch (error) {
      this.#state = afterFailedOpening(this.#state, opening);
      throw error instanceof Damaged ? this.#quarantine(error) : error;
    }
  }

  /** Makes the open collection of the owner serve. */
  #serve({ isPaused }: OwnerRole): void {
    const serving = afterPromotion(this.#state);
    this.#state = serving;
    const { collection } = serving;
    collection.journal.feed = this.#feed;
    collection.promote();
    if (isPaused) void collection.pause(0);
  }

  /** Returns the error for callers. */
  #quarantine(damage: Damaged): VouchError {
    const quarantine = new Quarantine(this.config, this.context, damage);
    this.#state = afterDamage(this.#state, quarantine);
    this.#counts.forget();
    return quarantine.error;
  }

  /** Ends a quarantine because of this key: its vault entry is not needed any more. */
  #beforeShred(keyId: string): void {
    const state = this.#state;
    if (state.kind === 'quarantined' && state.quarantine.keyId === keyId && !this.#isClosing)
      this.#endQuarantine(state, 'the damaged key is shredded');
  }

  /** Closes the collection if it was open, and opens it again. */
  #endQuarantine({ quarantine, opening, former }: Quarantined, why: string): void {
    quarantine.end(why);
    this.#state = { kind: 'idle', former };
    if (opening === undefined) return;
    const closed = opening.result.then((collection) => collection.close({ keep: true })).catch(() => undefined);
    // Callers of `opened` get the error.
    this.#open(former, closed).catch(() => undefined);
  }
}
