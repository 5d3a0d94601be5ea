/**
 * One collection: a state machine that its log drives.
 *
 *   Validate → append to the log → apply to the state → answer.
 *
 * Nothing is applied before it is durable, and nothing is answered before it is applied. Recovery and following run the
 * same code: read frames, verify, apply.
 *
 * ```text
 * Open ──▶ follower ──promote──▶ owner (see `commitLoop.ts`).
 *             ▲──────demote──────┘
 * ```
 */
import type { VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { StoredFrame } from '../../shared/log/eventLog.js';
import type { LogCount } from '../../shared/log/logCount.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import type { Call, Results } from '../../shared/protocol/calls.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { moved } from '../../shared/transport/transportErrors.js';
import { CollectionAccess } from '../access/collectionAccess.js';
import { CollectionAsOf } from '../asOf/collectionAsOf.js';
import type { Use } from '../capacity/quota.js';
import { readGraph } from '../graph/read.js';
import type { CollectionIndex } from '../index/collectionIndex.js';
import { CollectionProofs } from '../proof/collectionProofs.js';
import { Erasures } from '../proof/erasures.js';
import { keysOf } from '../records/keysOf.js';
import { readRecord, readRecords } from '../records/readRecords.js';
import { type CheckLog, CollectionLogCheck } from '../snapshot/collectionLogCheck.js';
import { CollectionSnapshots } from '../snapshot/collectionSnapshots.js';
import type { SavedSnapshot } from '../snapshot/savedSnapshots.js';
import type { CollectionState } from '../state/collectionState.js';
import type { Journal } from '../state/journal.js';
import { CollectionVault, type RoomFor } from '../vault/collectionVault.js';
import { withTerms } from './analysedCall.js';
import { CapacityReservation } from './capacityReservation.js';
import type { CollectionContext } from './collectionContext.js';
import { CollectionSearch } from './collectionSearch.js';
import { CommitLoop } from './commitLoop.js';
import type { CollectionParts } from './logImport.js';
import { LogReading } from './logReading.js';
import { openBytes } from './openBytes.js';
import { type OpenedCollection, openParts } from './openParts.js';

export class Collection {
  readonly state: CollectionState;
  readonly journal: Journal;
  readonly index: CollectionIndex;
  readonly #asOf: CollectionAsOf;
  readonly #searches: CollectionSearch;
  readonly #parts: CollectionParts;
  readonly #logReading: LogReading;
  readonly #erasures: Erasures;
  readonly access: CollectionAccess;
  /** Set while this shard owns the collection. */
  #commits: CommitLoop | undefined;
  #snapshots: CollectionSnapshots | undefined;
  #logCheck: CollectionLogCheck | undefined;

  private constructor(
    private readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    private readonly opened: OpenedCollection,
    private readonly onDamage: (damage: Damaged) => VouchError,
  ) {
    const { log, state, journal, index, watermark, contents } = opened;
    this.state = state;
    this.journal = journal;
    this.index = index;
    const replayed = { config, state, journal };
    const capacity = new CapacityReservation(replayed, context.quota, context.clock);
    const proofs = new CollectionProofs(replayed, context.signer, context.clock);
    this.#erasures = new Erasures(replayed, proofs, context);
    const { vault: records, limits } = context;
    const room: RoomFor = (brings) => capacity.room(brings);
    const vault = new CollectionVault({ ...replayed, contents }, records, limits, room);
    this.#parts = { config, context, state, journal, watermark, capacity, proofs, vault, erased: () => this.erased() };
    journal.onShred = () => {
      if (state.encrypted.hasContents) this.#asOf.forget();
    };
    this.#logReading = new LogReading(log, journal.history, context.clock);
    this.access = new CollectionAccess(config.id, { state, journal }, context);
    const { snapshots, dedupWindow } = context;
    const place = snapshots && { folder: snapshots.store.folderOf(config.id), dedupWindow };
    this.#asOf = new CollectionAsOf({ ...replayed, log }, context, place, contents.copies);
    this.#searches = new CollectionSearch({ state, journal }, index, this.#asOf, context.clock);
  }

  /**
   * Reads the newest snapshot and the log behind it; the index follows in the background. The collection is a follower
   * until `promote`. `toOwn`: applies the whole log, so that it may be promoted. Throws Damaged if the log does not
   * verify, or has lost committed events.
   */
  static async open(
    config: CollectionConfig,
    context: CollectionContext,
    onDamage: (damage: Damaged) => VouchError,
    toOwn: boolean,
  ): Promise<Collection> {
    const noted = await context.watermarks.read(config.id);
    noteWork('opening', config);
    return context.memoryGuard.opening(openBytes(config, noted), async () => {
      const opened = await openParts(config, context, noted, toOwn);
      return new Collection(config, context, opened, onDamage);
    });
  }

  get heldBytes(): HeldBytes {
    return this.state.heldBytes;
  }

  /** Amount that must stay reserved for it. */
  get inUse(): Use {
    return this.journal.isAlone ? this.#parts.capacity.inUse : 'unknown';
  }

  /** Applies events that earlier owners added to the log late, once they can add no more. */
  async settle(): Promise<void> {
    await this.#commits?.settle();
  }

  count(): LogCount {
    return { records: this.state.liveRecords, logBytes: this.journal.logBytes, sequence: this.journal.sequence };
  }

  /** Removes an owner's records that have expired; see `CommitLoop.expire`. */
  async expire(): Promise<void> {
    await this.#owned.expire();
  }

  #slice = ({ deadlineMs }: Envelope): Slice => new Slice(this.context.clock, deadlineMs);

  /** Runs a call of any kind. Only an owner runs writes and control calls. Reports the state that answers an audited read. */
  run(call: Call, envelope: Envelope): Promise<unknown> {
    const run = (named: Call): Promise<unknown> => this.#run(named, envelope);
    return this.access.reporting(call, envelope, () => withTerms(call, this.state, () => this.#slice(envelope), run));
  }

  async #run(call: Call, envelope: Envelope): Promise<unknown> {
    // Note it again, since the call may have waited for its turn, or for the opening.
    noteWork(call.op, this.config);
    switch (call.op) {
      case 'get':
        return this.#orCallerError(() => this.#get(call));
      case 'search':
        return call.asOf === undefined
          ? this.#searches.search(call, envelope.deadlineMs)
          : this.#orCallerError(() => this.#searches.search(call, envelope.deadlineMs));
      case 'searchBatch':
        return this.#orCallerError(() => this.#searches.batch(call, envelope.deadlineMs));
      case 'listRecords':
      case 'getRecords':
      case 'countRecords':
      case 'facets':
      case 'vectorOf':
        return readRecords(this.state, call, this.#slice(envelope));
      case 'describe':
        return this.count();
      case 'indexState':
        return this.index.state();
      case 'graphNode':
      case 'graphNodes':
      case 'graphEdges':
      case 'graphSubgraph':
      case 'graphQuery':
        return readGraph(this.state.graph, call, this.#slice(envelope), (name) => this.state.externalIds.named(name));
      case 'getEncrypted':
        return this.#orCallerError(() => this.#parts.vault.read(call.id));
      case 'readLog':
        return this.#orCallerError(() => this.#logReading.read(call.from, call.maxBytes, envelope.deadlineMs));
      case 'proofState':
      case 'proofReceipt':
      case 'proofInclusion':
      case 'proofConsistency':
      case 'checkpoint':
      case 'timeline':
        return this.#orCallerError(() => this.#parts.proofs.answer(call, envelope.deadlineMs));
      case 'keysOf':
        return keysOf(this.state, call, this.#slice(envelope));
      case 'countUnderKeys':
      case 'erasures':
      case 'erasureProofs':
        return this.#orCallerError(() => this.#erasures.answer(call, this.#slice(envelope)));
      case 'configureIndex':
        return this.#owned.orOwnershipEnded(this.index.configure(call.spec));
      case 'hold':
        await this.#owned.hold(call.token, call.holdMs);
        return null;
      case 'release':
        this.#owned.writeHold.release(call.token);
        return null;
      case 'rebuild':
        // The next owner builds the index itself, so a build that ends with the ownership has had no effect.
        await this.#owned.orOwnershipEnded(this.index.rebuild(call.kind), moved);
        return { records: this.state.liveRecords };
      case 'logAccess':
      case 'accessPage':
      case 'accessFrames':
      case 'trimAccess':
        return this.access.run(call, envelope);
      case 'importFrames':
        return this.#owned.importFrames(call.frames, call.upTo, envelope);
      default:
        return this.#owned.write(call, envelope);
    }
  }

  async #get(call: Extract<Call, { op: 'get' }>): Promise<Results['get']> {
    const read = readRecord(this.state, call);
    if (call.salt === undefined || read.keyId === undefined) return read;
    return { ...read, salt: await this.#parts.vault.saltOf(read.id) };
  }

  /** Makes this shard the owner. The whole log must be applied. */
  promote(): void {
    const { journal, context, config } = this;
    const { watermark } = this.opened;
    this.#parts.capacity.release();
    // If it cannot be noted now, the first answer waits for the next attempt.
    if (journal.sequence > 0) watermark.ensureNoted().catch(() => undefined);
    context.removals.ensureNoted(config.id, this.state.expiries.nextMs).catch(() => undefined);
    watermark.advanced();
    const onCommit = (): void => {
      watermark.advanced();
      this.index.maintain();
      this.#snapshots?.consider();
    };
    this.#commits = new CommitLoop(this.#parts, onCommit, (error) => this.#toCallerError(error));
    this.access.beginOwnership();
    const { snapshots } = context;
    if (snapshots === undefined) return;
    const make = (upTo: number): Promise<SavedSnapshot | undefined> => this.#asOf.snapshot(upTo);
    const { snapshot, unread } = this.opened;
    // In a snapshot lost contents would stay lost when a backup of the vault brings their keys back. A replay finds them.
    const now = (): Journal | undefined => (this.state.encrypted.lostCount > 0 ? undefined : journal);
    this.#snapshots ??= new CollectionSnapshots(config, snapshots, snapshot, { now, make });
    this.#snapshots.consider();
    if (unread === undefined) return;
    const check: CheckLog = (...asked) => this.#asOf.check(...asked);
    this.#logCheck ??= new CollectionLogCheck(config, snapshots, {
      ...{ upTo: unread, check },
      onDamage: (damage) => void this.#toCallerError(damage),
    });
  }

  /** Resolves when no past state in memory has content that is erased. */
  erased(): Promise<void> {
    return this.#asOf.forgotten();
  }

  /** Whether writes wait for the end of a `hold` call. */
  get isHeld(): boolean {
    return this.#commits?.writeHold.isHeld ?? false;
  }

  /** Resolves to whether the running commit has ended in time. No commit begins until `resume`. */
  async pause(withinMs: number): Promise<boolean> {
    return this.#commits?.pause(withinMs) ?? true;
  }

  resume(): void {
    this.#commits?.resume();
  }

  /** Makes this shard a follower. Waiting writes are answered as moved. Resolves when the running commit has ended. */
  async demote(): Promise<void> {
    const commits = this.#commits;
    this.#commits = undefined;
    this.journal.feed = undefined;
    this.opened.watermark.forget();
    commits?.end(moved());
    await this.access.endOwnership();
    await commits?.idle();
  }

  /** Throws if the log has lost applied events. `loss`: evidence that is known already. */
  async assertStored(loss: string | undefined): Promise<void> {
    await this.#orCallerError(() => this.journal.assertStored(loss));
  }

  /** Reads and applies the events of the log that a follower's state lacks. */
  async catchUp(): Promise<void> {
    await this.#orCallerError(() => this.journal.catchUp());
    this.index.maintain();
  }

  /** Catches up before `promote`. Throws Damaged if the log does not match its watermark. */
  async takeOver(): Promise<void> {
    await this.#orCallerError(() => this.opened.watermark.confirm());
    this.index.maintain();
  }

  /** Applies a frame of the owner to a follower, like `Journal.take`. */
  async take(committed: StoredFrame): Promise<boolean> {
    const isTaken = await this.#orCallerError(() => this.journal.take(committed));
    this.index.maintain();
    return isTaken;
  }

  /** Verifies an owner's vault entry of one key, if live records use it. Throws if the entry is damaged. */
  async checkKey(keyId: string): Promise<void> {
    if (this.#commits !== undefined) await this.#orCallerError(() => this.#parts.vault.checkKey(keyId));
  }

  /** Verifies an owner's vault entries of all keys; false for a follower. Throws if an entry is damaged. */
  async checkKeys(rest: (entries: number) => Promise<void>): Promise<boolean> {
    const commits = this.#commits;
    if (commits === undefined) return false;
    const restAsOwner = async (entries: number): Promise<void> => {
      await rest(entries);
      if (this.#commits !== commits) throw moved();
    };
    await this.#orCallerError(() => this.#parts.vault.checkKeys(restAsOwner, this.context.logger));
    return true;
  }

  /** Returns the state hash and its sequence; undefined in the middle of a frame. */
  stateHash(): { readonly sequence: number; readonly stateHash: string } | undefined {
    const { journal } = this;
    if (!journal.isWhole || journal.sequence === 0) return undefined;
    return { sequence: journal.sequence, stateHash: toHex(journal.stateHash()) };
  }

  /** Returns the state hash after event `sequence`; undefined if it is expensive to compute. */
  stateHashAt(sequence: number, deadlineMs: number): Promise<string | undefined> {
    return this.#asOf.hashAt(sequence, new Slice(this.context.clock, deadlineMs));
  }

  /** Ends long work and begins none, since the collection is about to be closed. */
  cancelBackgroundWork(): void {
    this.#commits?.writeHold.over();
    this.index.cancelBackgroundWork();
    this.#parts.proofs.cancelBackgroundWork();
    this.#logCheck?.stop();
    void this.#asOf.close();
  }

  /** Finishes the running commit and refuses the waiting writes. `keep`: this shard will open the collection again. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    const commits = this.#commits;
    commits?.end(moved());
    this.cancelBackgroundWork();
    await this.access.endOwnership();
    await commits?.idle();
    await this.index.close({ keep });
    await this.#asOf.close();
    await this.#snapshots?.close();
    await this.#logCheck?.close();
    await commits?.answered();
    if (keep) await this.opened.watermark.beforeClose();
    this.opened.watermark.forget();
    await this.opened.log.close();
    this.opened.contents.close();
    this.state.vectors.destroy();
  }

  async #orCallerError<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#toCallerError(error);
    }
  }

  /** Returns the error for the caller. Damage quarantines the collection, since further commits would build on it. */
  #toCallerError(error: unknown): unknown {
    this.context.storeGuard.writeFailed(error);
    if (!(error instanceof Damaged)) return error;
    this.#logCheck?.stop();
    const quarantine = this.onDamage(error);
    this.#commits?.refuse(quarantine);
    return quarantine;
  }

  /** Commit loop of the owner; throws on a follower. */
  get #owned(): CommitLoop {
    if (this.#commits === undefined) throw moved();
    return this.#commits;
  }
}
