/**
 * A collection on its shard, as owner or as follower. The first call opens it; until then only its name is in memory.
 *
 *   idle ──first call──▶ opening ──▶ open ──close──▶ idle
 *                           │          │
 *                           └──────────┴──bytes that do not verify──▶ quarantined (until the shard restarts, or
 *                                                                     the damaged key is shredded)
 *   idle ──its openings have stopped shards──▶ quarantined (until an operator releases it)
 *
 * An open collection stays open when its role changes.
 */

import { messageOf, type VouchError } from '../../shared/errors/errors.js';
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { countAtHead, type LogCount, NOTHING_COUNTED } from '../../shared/log/logCount.js';
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
import { Quarantine } from './quarantine.js';

export class CollectionHandle {
  #opening: Promise<Collection> | undefined;
  #open: Collection | undefined;
  /** The one that was opened last: where it is quarantined, a commit may still run in it. */
  #latest: Collection | undefined;
  readonly #quarantine: Quarantine;
  /** Read from the end of the log, while the collection is not open. */
  #counted: Counted | undefined;
  /** How often the counts were forgotten. */
  #countings = 0;
  /** When the term began, on the monotonic clock. */
  #begunMs = 0;
  /** Read from its watermark, while it is not open. */
  #held: { readonly sequence: number; readonly bytes: HeldBytes } | undefined;
  #feed: Feed | undefined;
  /** As `Journal.beginTerm`, for a collection that is not open. */
  #othersUntilMs: number | undefined;
  /** Counts changes of the role, so that work begun under an earlier one can tell. */
  #term = 0;
  /** Open, and everything applied that the log held when the term began. */
  #isPromoted = false;
  #isPaused = false;
  #closed = false;

  constructor(
    readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    private role: 'owner' | 'follower' = 'owner',
  ) {
    this.#quarantine = new Quarantine(config, context);
  }

  /** Runs a call on the owned collection, which it opens first if necessary. */
  async run(call: Call, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    // Its vault entry is not needed any more.
    if (call.op === 'shredKey' && call.keyId === this.#quarantine.keyId && !this.#closed)
      this.#endQuarantine('the damaged key is shredded');
    // Only a promoted collection is up to date.
    const collection = this.#promoted ?? (await this.opened());
    if (this.#promoted !== collection) throw this.#quarantine.error ?? moved();
    return collection.run(call, envelope);
  }

  /** Reads only the end of the log, if the collection is not open; zeros if its log does not verify. */
  async count(): Promise<LogCount> {
    if (this.#open !== undefined) return this.#open.count();
    if (this.quarantined) return NOTHING_COUNTED;
    const isOver = this.#counted !== undefined && this.context.clock.monotonicMs() >= this.#counted.againMs;
    if (isOver) this.#forgetCounts();
    return (this.#counted ?? (await this.#countNow())).count;
  }

  /**
   * The bytes that it holds besides its log. Of a collection that is not open they stand in its watermark; where that is behind
   * the log, as after a crash, the collection is opened. Zeros if its log does not verify.
   */
  async heldBytes(): Promise<HeldBytes> {
    if (this.#open !== undefined) return this.#open.heldBytes;
    const { sequence } = await this.count();
    if (this.quarantined || sequence === 0) return NOTHING_HELD;
    if (this.#held?.sequence === sequence) return this.#held.bytes;
    const bytes = await this.#heldAt(sequence);
    this.#held = bytes && { sequence, bytes };
    return bytes ?? (await this.opened()).heldBytes;
  }

  /** What must stay reserved: stored and being committed. */
  async inUse(): Promise<Use> {
    if (this.quarantined) return 'all';
    // `settle` counts again once that is of use.
    if (this.#open === undefined && this.#counted !== undefined && !this.#isCountFinal) return 'unknown';
    const held = await this.heldBytes();
    const { records, logBytes } = await this.count();
    if (this.quarantined) return 'all';
    if (this.#open !== undefined) return this.#open.inUse;
    return this.#isCountFinal && this.#othersUntilMs === undefined
      ? { records, bytes: totalHeld(held) + logBytes }
      : 'unknown';
  }

  /** Of its last event; undefined while an owner before may have committed more. As `count`. */
  async sequence(): Promise<number | undefined> {
    const { sequence } = await this.count();
    if (this.#open !== undefined) return this.#open.count().sequence;
    return this.#isCountFinal ? sequence : undefined;
  }

  /** Learns what owners before have added to the log late, once they cannot any more. Counts, so that `inUse` does not wait. */
  async settle(): Promise<void> {
    const isOver = this.#othersUntilMs !== undefined && this.context.clock.monotonicMs() >= this.#othersUntilMs;
    // One that is being opened may have been read before; its journal settles it.
    if (isOver && this.#opening === undefined) {
      this.#othersUntilMs = undefined;
      this.#forgetCounts();
    }
    await this.#open?.settle();
    await this.count();
    await this.inUse();
  }

  /** Live records, as far as they are known without reading anything. */
  get knownRecords(): number {
    return this.#open?.count().records ?? this.#counted?.count.records ?? 0;
  }

  /** The index that serves searches, or that will once the collection is open. */
  get serving(): IndexKind | 'brute' {
    return this.#open?.index.serving ?? this.context.indexes.store.kindOf(this.config.id) ?? 'brute';
  }

  get quarantined(): boolean {
    return this.#quarantine.error !== undefined;
  }

  /** Undefined while it is not open. */
  get openCollection(): Collection | undefined {
    return this.#open;
  }

  /** What searches of the owned collection see now; undefined while it is not open. */
  get shown(): ShownState | undefined {
    const collection = this.#promoted;
    return collection && { sequence: collection.journal.seenSequence, index: collection.index.servingSpec };
  }

  /** Whether its writes wait for the end of a `hold` call. */
  get isHeld(): boolean {
    return this.#open?.isHeld ?? false;
  }

  /** Gets every frame that is committed here; undefined while there is no follower. */
  set feed(feed: Feed | undefined) {
    this.#feed = feed;
    if (this.role === 'owner' && this.#open !== undefined) this.#open.journal.feed = feed;
  }

  /** Begins a term of the owner. `mayOthersAppend`: an append of an owner before may be on its way to the log. */
  beginTerm(mayOthersAppend: boolean): void {
    const { logs, clock } = this.context;
    const isClear = !mayOthersAppend || logs.lateMs === 0;
    this.#begunMs = clock.monotonicMs();
    this.#forgetCounts();
    this.#othersUntilMs = isClear ? undefined : this.#begunMs + logs.lateMs;
    this.#latest?.journal.beginTerm(this.#othersUntilMs);
    this.checkFailedOpenings();
  }

  /** Quarantines an owned collection whose openings have failed too often, or releases it once these failures are deleted. */
  checkFailedOpenings(): void {
    if (this.#closed) return;
    try {
      this.context.openings.assertMayOpen(this.config.id);
      if (this.#quarantine.part === 'opening') this.#endQuarantine('its failed openings are forgotten');
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      if (!this.quarantined && this.role === 'owner') this.#setQuarantine(error);
    }
  }

  /** Whether an append of this owner, or of one before, may be on its way to the log. */
  get mayGetAppends(): boolean {
    if (this.#latest === undefined) return this.#othersUntilMs !== undefined;
    const { isAlone, isUnsettled } = this.#latest.journal;
    return !isAlone || isUnsettled;
  }

  /**
   * Makes this shard the owner. An open collection has everything applied that the log holds when this resolves; a
   * quarantined one stays so. Throws `unavailable` if the log could not be read; it may then be called again.
   */
  async promote(): Promise<void> {
    if (this.#isPromoted) return;
    const term = ++this.#term;
    this.role = 'owner';
    this.checkFailedOpenings();
    // The opening may have begun before the last commit of the owner before.
    const collection = await this.#opening?.catch(() => undefined);
    if (collection === undefined || this.quarantined) return;
    await collection.takeOver();
    if (term !== this.#term || this.#open !== collection) return;
    this.#promoteOpen(collection);
    this.applyDesiredIndex();
  }

  /** Makes this shard a follower. Waiting writes are answered as moved; resolves when the running commit has ended. */
  async demote(): Promise<void> {
    this.#term++;
    this.role = 'follower';
    this.#isPromoted = false;
    this.#isPaused = false;
    this.#forgetCounts();
    // A collection that is still being opened is not promoted, as the term has changed.
    await this.#latest?.demote();
  }

  /**
   * Quarantines the collection if its log has lost committed events. `loss`: how that is known already, of a log that held
   * events. Throws the quarantine, or `unavailable` if the log could not be read.
   */
  async assertStored(loss: string | undefined): Promise<void> {
    if (this.quarantined || this.#closed) return;
    const open = await this.#opening?.catch(() => undefined);
    if (open !== undefined) return open.assertStored(loss);
    const { context, config } = this;
    const noted = await context.watermarks.read(config.id);
    if (noted === undefined) return;
    try {
      if (loss !== undefined) throw new Damaged(`${loss}; ${WHAT_TO_DO}`);
      const log = await noticingDamage(() => context.logs.open(config.id));
      try {
        await assertReaches(log, config.id, noted.sequence, `event ${noted.sequence} was committed`, context.clock);
        await assertBegins(log);
      } finally {
        await log.close();
      }
    } catch (error) {
      throw error instanceof Damaged && !this.#closed ? this.#setQuarantine(error) : error;
    }
  }

  /** Gives an open collection the index that its catalog entry asks for; another shard may have changed the entry. */
  applyDesiredIndex(): void {
    const { id: collectionId } = this.config;
    this.#open?.index.reloadDesired().catch((error: unknown) => {
      this.context.logger.warn({ collectionId, error: messageOf(error) }, 'the desired index could not be applied yet');
    });
  }

  /** Resolves to whether no commit runs any more. New writes wait until `resume`. */
  async pause(withinMs: number): Promise<boolean> {
    this.#isPaused = true;
    return this.#latest?.pause(withinMs) ?? true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#latest?.resume();
  }

  /** Ends the work that `close` would wait for. Called before the subjects are given up, as their calls are answered first. */
  cancelBackgroundWork(): void {
    this.#closed = true;
    this.#open?.cancelBackgroundWork();
  }

  /**
   * Finishes the running commit, answers waiting writes as moved, and frees the memory. `keep`: this shard will open the
   * collection again; otherwise its saved indexes and snapshots are removed.
   */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#closed = true;
    const collection = await this.#opening?.catch(() => undefined);
    this.#open = undefined;
    this.#latest = undefined;
    this.#opening = undefined;
    await collection?.close({ keep });
    if (keep) return;
    await this.context.indexes.store.removeAll(this.config.id);
    await this.context.snapshots?.store.removeAll(this.config.id);
  }

  /** Opens the collection if it is not open. Throws if it is quarantined or cannot be opened. */
  async opened(): Promise<Collection> {
    if (this.#quarantine.error !== undefined) throw this.#quarantine.error;
    if (this.#closed) throw moved();
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  get #promoted(): Collection | undefined {
    return this.#isPromoted ? this.#open : undefined;
  }

  async #openNow(): Promise<Collection> {
    const term = this.#term;
    const toOwn = this.role === 'owner';
    try {
      const { openings } = this.context;
      const open = (): Promise<Collection> =>
        openings.noted(this.config.id, () =>
          Collection.open(this.config, this.context, (damage) => this.#setQuarantine(damage), toOwn),
        );
      const collection = await (toOwn ? openings.asked(this.config, open) : open());
      collection.journal.beginTerm(this.#othersUntilMs);
      this.#open = collection;
      this.#latest = collection;
      this.#forgetCounts();
      // A shard that became the owner meanwhile has to catch up first: see `promote`.
      if (this.role === 'owner' && term === this.#term) this.#promoteOpen(collection);
      return collection;
    } catch (error) {
      this.#opening = undefined;
      if (error instanceof Damaged) throw this.#setQuarantine(error);
      throw error;
    }
  }

  #promoteOpen(collection: Collection): void {
    this.#isPromoted = true;
    collection.journal.feed = this.#feed;
    collection.promote();
    if (this.#isPaused) void collection.pause(0);
  }

  #setQuarantine(damage: Damaged): VouchError {
    this.#open = undefined;
    this.#forgetCounts();
    return this.#quarantine.begin(damage);
  }

  /** Closes the collection if it is open; the next call opens it again. */
  #endQuarantine(why: string): void {
    this.#quarantine.end(why);
    const closed = this.#opening?.then((collection) => collection.close({ keep: true })).catch(() => undefined);
    if (closed === undefined) return;
    this.#opening = closed.then(() => this.#openNow());
    // Callers of `opened` get the error.
    this.#opening.catch(() => undefined);
  }

  get #isCountFinal(): boolean {
    return this.#counted?.againMs === Number.POSITIVE_INFINITY;
  }

  #forgetCounts(): void {
    this.#counted = undefined;
    this.#held = undefined;
    this.#countings++;
  }

  /** Undefined if the watermark is not of that sequence. */
  async #heldAt(sequence: number): Promise<HeldBytes | undefined> {
    const noted = await this.context.watermarks.read(this.config.id);
    return noted?.sequence === sequence ? noted.held : undefined;
  }

  /** What is read soon after the beginning of a term may lack what the owner before has committed. */
  async #countNow(): Promise<Counted> {
    const countings = this.#countings;
    const { logs, clock } = this.context;
    const { id } = this.config;
    try {
      const log = await noticingDamage(() => logs.open(id));
      try {
        const knownMs = this.#begunMs + log.staleMs;
        const againMs = clock.monotonicMs() < knownMs ? knownMs : Number.POSITIVE_INFINITY;
        const counted = { count: await noticingDamage(() => countAtHead(log, id)), againMs };
        if (countings === this.#countings) this.#counted = counted;
        return counted;
      } finally {
        await log.close();
      }
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.#setQuarantine(error);
      return { count: NOTHING_COUNTED, againMs: Number.POSITIVE_INFINITY };
    }
  }
}

interface Counted {
  readonly count: LogCount;
  /** When it is to be read again, on the monotonic clock. */
  readonly againMs: number;
}
