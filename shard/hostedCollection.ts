/**
 * A collection as its shard hosts it. It is opened by the first call that needs it; until then it is a name and a
 * subscription.
 *
 *   idle ──first call──▶ opening ──▶ open ──close──▶ idle
 *                           │          │
 *                           └──────────┴──bytes that do not verify──▶ quarantined (until the shard restarts)
 */
import type { CollectionConfig, ControlCall, ReadCall, WriteCall } from '../shared/calls.js';
import { messageOf, VouchError } from '../shared/errors.js';
import type { IndexKind } from '../shared/indexSpec.js';
import { countInLog, type LogCount, NOTHING_COUNTED } from '../shared/log/logCount.js';
import type { Envelope } from '../shared/transport/transport.js';
import { Collection } from './collection/collection.js';
import type { CollectionContext } from './collection/collectionContext.js';
import { Damaged, noticingDamage } from './collection/damaged.js';
import { moving } from './moving.js';

export class HostedCollection {
  #opening: Promise<Collection> | undefined;
  #open: Collection | undefined;
  #quarantine: VouchError | undefined;
  /** What the end of the log said, while the collection is not open. */
  #counted: LogCount | undefined;
  #closed = false;

  constructor(
    readonly config: CollectionConfig,
    private readonly context: CollectionContext,
  ) {}

  async read(call: ReadCall, envelope: Envelope): Promise<unknown> {
    const collection = this.#open ?? (await this.#opened());
    return collection.read(call, envelope);
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    const collection = this.#open ?? (await this.#opened());
    return collection.write(call, envelope);
  }

  async control(call: ControlCall, envelope: Envelope): Promise<unknown> {
    const collection = this.#open ?? (await this.#opened());
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

  /** Ends what would keep `close` waiting. Called before the subjects are given up, since their calls are answered first. */
  hurry(): void {
    this.#closed = true;
    this.#open?.hurry();
  }

  /**
   * Finishes the commit under way, answers what waits with `unavailable`, and gives the memory back. `keep`: this shard
   * will serve it again; without, what it saved of its index goes too, and its snapshots.
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

  async #opened(): Promise<Collection> {
    if (this.#quarantine !== undefined) throw this.#quarantine;
    if (this.#closed) throw moving();
    this.#opening ??= this.#openNow();
    return this.#opening;
  }

  async #openNow(): Promise<Collection> {
    try {
      this.#open = await Collection.open(this.config, this.context, (damage) => this.#setQuarantine(damage));
      this.#counted = undefined;
      return this.#open;
    } catch (error) {
      this.#opening = undefined;
      if (error instanceof Damaged) throw this.#setQuarantine(error);
      throw error;
    }
  }

  #setQuarantine(damage: Damaged): VouchError {
    const { id, project, name } = this.config;
    this.context.logger.error({ collectionId: id, project, name, reason: damage.message }, 'collection quarantined');
    this.context.damages.report({ collectionId: id, part: damage.part, reason: damage.message });
    this.#open = undefined;
    this.#quarantine = new VouchError(
      'internal_error',
      `collection ${JSON.stringify(name)} is quarantined, its stored ${damage.part} does not verify: ${messageOf(damage)}`,
    );
    return this.#quarantine;
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
