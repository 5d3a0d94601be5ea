/**
 * A collection as its shard hosts it, as owner or as follower. It is opened by the first call that needs it; until then it
 * is a name.
 *
 *   idle ──first call──▶ opening ──▶ open ──close──▶ idle
 *                           │          │
 *                           └──────────┴──bytes that do not verify──▶ quarantined (until the shard restarts, or
 *                                                                     the damaged key is shredded)
 *
 * What is open stays open when its role changes.
 */
import type { CollectionConfig, ControlCall, ReadCall, WriteCall } from '../shared/calls.js';
import { messageOf, VouchError } from '../shared/errors.js';
import type { IndexKind } from '../shared/indexSpec.js';
import { countInLog, type LogCount, NOTHING_COUNTED } from '../shared/log/logCount.js';
import type { Envelope } from '../shared/transport/transport.js';
import { Collection } from './collection/collection.js';
import type { CollectionContext } from './collection/collectionContext.js';
import { Damaged, noticingDamage } from './collection/damaged.js';
import type { Feed } from './collection/journal.js';
import { moved } from './moving.js';

export type Role = 'owner' | 'follower';

export class HostedCollection {
  #opening: Promise<Collection> | undefined;
  #open: Collection | undefined;
  #quarantine: VouchError | undefined;
  /** Whose vault entry is the reason of the quarantine. */
  #damagedKey: string | undefined;
  /** What the end of the log said, while the collection is not open. */
  #counted: LogCount | undefined;
  #feed: Feed | undefined;
  /** Counts changes of the role: what was begun under an earlier one does not take it for its own. */
  #term = 0;
  /** Open, and with all applied that the log held when its term began. */
  #isLeading = false;
  #isPaused = false;
  #closed = false;

  constructor(
    readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    private role: Role = 'owner',
  ) {}

  async read(call: ReadCall, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    const collection = this.#leading ?? (await this.#opensToLead());
    return collection.read(call, envelope);
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    if (call.op === 'shredKey') this.#doWithout(call.keyId);
    const collection = this.#leading ?? (await this.#opensToLead());
    return collection.write(call, envelope);
  }

  async control(call: ControlCall, envelope: Envelope): Promise<unknown> {
    this.context.pasts.called();
    const collection = this.#leading ?? (await this.#opensToLead());
    return collection.control(call, envelope);
  }

  /** Reads the end of the log only, where the collection is not open. Nothing, where its log does not verify. */
  async count(): Promise<LogCount> {
    if (this.#open !== undefined) return this.#open.count();
    if (this.#quarantine !== undefined) return NOTHING_COUNTED;
    this.#counted ??= await this.#countInLog();
    return this.#counted;
  }

  /** Records that must stay reserved: what it holds and what is being committed. All, where that cannot be known. */
  async inUse(): Promise<number> {
    const { records } = await this.count();
    return this.#quarantine === undefined ? (this.#open?.recordsInUse ?? records) : Number.POSITIVE_INFINITY;
  }

  /** Live records as far as they are known without reading anything. */
  get knownRecords(): number {
    return this.#open?.count().records ?? this.#counted?.records ?? 0;
  }

  /** The index that serves; of a collection that is not open, the one that will be loaded. */
  get serving(): IndexKind | 'brute' {
    return this.#open?.serving ?? this.context.indexes.store.kindOf(this.config.id) ?? 'brute';
  }

  get indexLoad(): Collection['indexLoad'] | undefined {
    return this.#open?.indexLoad;
  }

  get quarantined(): boolean {
    return this.#quarantine !== undefined;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Its writes wait until whoever holds them lets go. */
  get isHeld(): boolean {
    return this.#open?.isHeld ?? false;
  }

  /** Undefined while it is not open. */
  get openCollection(): Collection | undefined {
    return this.#open;
  }

  /** Is told of what is committed here; undefined while nobody follows. */
  set feed(feed: Feed | undefined) {
    this.#feed = feed;
    if (this.role === 'owner' && this.#open !== undefined) this.#open.feed = feed;
  }

  /**
   * This shard owns the collection from now on: where it is open, all is applied that the log holds when this resolves. Of
   * a quarantined one, nothing. Throws `unavailable` where the log could not be read; it may then be called again.
   */
  async promote(): Promise<void> {
    if (this.#isLeading) return;
    const term = ++this.#term;
    this.role = 'owner';
    // It may have been begun before the last owner's last commit.
    const collection = await this.#opening?.catch(() => undefined);
    if (collection === undefined || this.#quarantine !== undefined) return;
    await collection.takeOver();
    if (term !== this.#term || this.#open !== collection) return;
    this.#lead(collection);
    this.indexAsDesired();
  }

  /** Another shard owns it from now on. What waits here is answered as moved; resolves when no commit is under way. */
  async demote(): Promise<void> {
    this.#term++;
    this.role = 'follower';
    this.#isLeading = false;
    this.#isPaused = false;
    this.#counted = undefined;
    // What is still being opened will find that it does not lead.
    await this.#open?.standDown();
  }

  /** What is desired of its index may have been changed by another shard. */
  indexAsDesired(): void {
    const { id: collectionId } = this.config;
    this.#open?.indexAsDesired().catch((error: unknown) => {
      this.context.logger.warn({ collectionId, error: messageOf(error) }, 'an index is not what is desired yet');
    });
  }

  /** Of an owner: whether no commit is under way; what comes waits until `resume`. */
  async pause(withinMs: number): Promise<boolean> {
    this.#isPaused = true;
    return this.#open?.pause(withinMs) ?? true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#open?.resume();
  }

  /** Ends what would keep `close` waiting. Called before the subjects are given up, since their calls are answered first. */
  hurry(): void {
    this.#closed = true;
    this.#open?.hurry();
  }

  /**
   * Finishes the commit under way, answers what waits as moved, and gives the memory back. `keep`: this shard will serve it
   * again; without, what it saved of its index goes too, and its snapshots.
   */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#closed = true;
    const collection = await this.#opening?.catch(() => undefined);
    this.#open = undefined;
    this.#opening = undefined;
    await collection?.close({ keep });
    if (keep) return;
    await this.context.indexes.store.removeAll(this.config.id);
    await this.context.snapshots?.store.removeAll(this.config.id);
  }

  /** Opens it where it is not. Throws where it cannot be, or is quarantined. */
  async opened(): Promise<Collection> {
    if (this.#quarantine !== undefined) throw this.#quarantine;
    if (this.#closed) throw moved();
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  /** Only what leads is up to date, whatever calls it. */
  get #leading(): Collection | undefined {
    return this.#isLeading ? this.#open : undefined;
  }

  async #opensToLead(): Promise<Collection> {
    const collection = await this.opened();
    if (this.#leading !== collection) throw this.#quarantine ?? moved();
    return collection;
  }

  async #openNow(): Promise<Collection> {
    const term = this.#term;
    try {
      const open = (): Promise<Collection> =>
        Collection.open(this.config, this.context, (damage) => this.#setQuarantine(damage));
      const collection = await (this.role === 'owner' ? this.context.openings.asked(open) : open());
      this.#open = collection;
      this.#counted = undefined;
      // What became its owner meanwhile has to read what the log got meanwhile.
      if (this.role === 'owner' && term === this.#term) this.#lead(collection);
      return collection;
    } catch (error) {
      this.#opening = undefined;
      if (error instanceof Damaged) throw this.#setQuarantine(error);
      throw error;
    }
  }

  #lead(collection: Collection): void {
    this.#isLeading = true;
    collection.feed = this.#feed;
    collection.lead();
    if (this.#isPaused) void collection.pause(0);
  }

  #setQuarantine(damage: Damaged): VouchError {
    const { id, project, name } = this.config;
    this.context.logger.error({ collectionId: id, project, name, reason: damage.message }, 'collection quarantined');
    this.context.damages.report({ collectionId: id, part: damage.part, reason: damage.message });
    this.#open = undefined;
    this.#damagedKey = damage.keyId;
    this.#quarantine = new VouchError(
      'internal_error',
      `collection ${JSON.stringify(name)} is quarantined, its stored ${damage.part} does not verify: ${messageOf(damage)}`,
    );
    return this.#quarantine;
  }

  /** The key is shredded: nothing of its vault entry is needed any more, and the collection is opened anew. */
  #doWithout(keyId: string): void {
    if (this.#quarantine === undefined || this.#damagedKey !== keyId || this.#closed) return;
    const { id } = this.config;
    this.context.logger.info({ collectionId: id, keyId }, 'the damaged key is shredded; the collection serves again');
    this.context.damages.mended(id, 'vault');
    this.#quarantine = undefined;
    this.#damagedKey = undefined;
    const closed = this.#opening?.then((collection) => collection.close({ keep: true })).catch(() => undefined);
    this.#opening = Promise.resolve(closed).then(() => this.#openNow());
    // Who needs it is told.
    this.#opening.catch(() => undefined);
  }

  async #countInLog(): Promise<LogCount> {
    try {
      return await noticingDamage(() => countInLog(this.context.logs, this.config.id));
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.#setQuarantine(error);
      return NOTHING_COUNTED;
    }
  }
}
