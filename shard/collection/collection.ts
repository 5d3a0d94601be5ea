/**
 * A collection is a single ordered machine:
 *
 *   validate → append to the log → apply to the state → answer
 *
 * Nothing is applied before it is durable, nothing is answered before it is applied. Recovery is the same code as normal
 * operation: read frames, verify, apply. So is following another shard, which writes:
 *
 *   open ──▶ following ──lead──▶ leading (see `writing.ts`)
 *                 ▲──standDown──┘
 */
import type { CollectionConfig, ControlCall, ReadCall, Results, SearchCall, WriteCall } from '../../shared/calls.js';
import { unreachable, type VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import type { IndexKind } from '../../shared/indexSpec.js';
import type { EventLog, StoredFrame } from '../../shared/log/eventLog.js';
import type { LogCount } from '../../shared/log/logCount.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { CollectionVault } from '../encrypted/collectionVault.js';
import { Pace } from '../graph/pace.js';
import { readGraph } from '../graph/read.js';
import { CollectionIndex } from '../index/collectionIndex.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { moved } from '../moving.js';
import { CollectionPast } from '../past/collectionPast.js';
import type { SavedSnapshot } from '../past/snapshots.js';
import { CollectionProofs } from '../proof/collectionProofs.js';
import { search } from '../search/search.js';
import { type CheckLog, CollectionLogCheck } from '../snapshot/collectionLogCheck.js';
import { CollectionSnapshots } from '../snapshot/collectionSnapshots.js';
import { type OpenState, openState } from '../snapshot/openState.js';
import type { CollectionContext } from './collectionContext.js';
import type { CollectionState } from './collectionState.js';
import { CommitRoom } from './commitRoom.js';
import { Damaged, noticingDamage } from './damaged.js';
import { missing } from './framePlan.js';
import type { Feed, Journal } from './journal.js';
import { LogImport } from './logImport.js';
import { LogReading } from './logReading.js';
import { Reach } from './reach.js';
import { componentsOf, resultOf } from './resultBytes.js';
import { Writing } from './writing.js';

export class Collection {
  readonly #past: CollectionPast;
  readonly #vault: CollectionVault;
  readonly #proofs: CollectionProofs;
  readonly #reading: LogReading;
  readonly #import: LogImport;
  readonly #room: CommitRoom;
  /** While this shard owns the collection. */
  #writing: Writing | undefined;
  #snapshots: CollectionSnapshots | undefined;
  #logCheck: CollectionLogCheck | undefined;

  private constructor(
    private readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly index: CollectionIndex,
    private readonly reach: Reach,
    private readonly opened: Pick<OpenState, 'snapshot' | 'unread'>,
    private readonly onDamage: (damage: Damaged) => VouchError,
  ) {
    this.#room = new CommitRoom(config, state, journal, context.quota, context.clock);
    this.#proofs = new CollectionProofs(config, state, journal, context.signer, context.clock);
    this.#vault = new CollectionVault(config, state, journal, context.vault, context.quota);
    this.#reading = new LogReading(log, journal.history, context.clock);
    this.#import = new LogImport(config, state, journal, this.#room, this.#proofs, this.#vault, context);
    const { snapshots, dedupWindow } = context;
    const place = snapshots && { folder: snapshots.store.folderOf(config.id), dedupWindow };
    this.#past = new CollectionPast(config, log, state, journal, { ...context, metrics: context.metrics.past }, place);
  }

  /**
   * Reads its newest snapshot, and the log from there on; its index comes later, in the background. It follows then: what
   * it is to write or to answer for begins with `lead`. Throws Damaged where the log does not verify, or has lost what is
   * known to have been committed.
   */
  static async open(
    config: CollectionConfig,
    context: CollectionContext,
    onDamage: (damage: Damaged) => VouchError,
  ): Promise<Collection> {
    const log = await noticingDamage(() => context.logs.open(config.id));
    const noting = context.reach.read(config.id);
    // It is waited for when the log is read, if that can be.
    noting.catch(() => undefined);
    let vectors: VectorBlocks | undefined;
    try {
      const opened = await openState(config, log, context);
      const { state, journal } = opened;
      vectors = state.vectors;
      const reach = new Reach(config, log, journal, context.reach, context.clock);
      await reach.assertAs(await noting);
      const index = await CollectionIndex.open(
        {
          config,
          vectors: state.vectors,
          get sequence() {
            return journal.sequence;
          },
          liveSlotOf: (recordId) => state.liveSlotOf(recordId),
        },
        context.indexes,
      );
      state.onDeath = (slot) => index.removed(slot);
      return new Collection(config, context, log, state, journal, index, reach, opened, onDamage);
    } catch (error) {
      vectors?.destroy();
      await log.close();
      throw error;
    }
  }

  get recordsInUse(): number {
    return this.#room.recordsInUse;
  }

  count(): LogCount {
    return { records: this.state.liveRecords, logBytes: this.journal.logBytes, sequence: this.journal.sequence };
  }

  /** The index that serves searches. */
  get serving(): IndexKind | 'brute' {
    return this.index.serving;
  }

  get indexLoad(): { readonly tail: number; readonly bytes: number; readonly progress: number | undefined } {
    return this.index;
  }

  async read(call: ReadCall, envelope: Envelope): Promise<Results[ReadCall['op']]> {
    switch (call.op) {
      case 'get': {
        const record = this.state.record(call.id);
        if (record === undefined) throw missing(call.id);
        return record;
      }
      case 'search':
        return this.#search(call, envelope);
      case 'describe':
        return this.count();
      case 'indexState':
        return this.index.state();
      case 'graphNode':
      case 'graphNodes':
      case 'graphEdges':
      case 'graphSubgraph':
      case 'graphQuery':
        return readGraph(this.state.graph, call, new Pace(this.context.clock, envelope.deadlineMs));
      case 'getEncrypted':
        return this.#showing(() => this.#vault.read(call.id));
      case 'readLog':
        return this.#showing(() => this.#reading.read(call.from, call.maxBytes, envelope.deadlineMs));
      default: // Proofs are left, and they know all of them.
        return this.#showing(() => this.#proofs.answer(call, envelope.deadlineMs));
    }
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    return this.#leading.write(call, envelope);
  }

  async control(call: ControlCall, envelope: Envelope): Promise<Results[ControlCall['op']]> {
    const writing = this.#leading;
    switch (call.op) {
      case 'configureIndex':
        return writing.unlessOver(this.index.configure(call.spec));
      case 'hold':
        await writing.hold(call.token, call.holdMs);
        return null;
      case 'release':
        writing.release(call.token);
        return null;
      case 'rebuild':
        // What was being built goes with the term: built by the next owner it is as good as never begun here.
        await writing.unlessOver(this.index.rebuild(call.kind), moved);
        return { records: this.state.liveRecords };
      case 'importFrames':
        return writing.importFrames(call.frames, call.upTo, envelope);
      default:
        return unreachable(call);
    }
  }

  /** From now on this shard owns the collection; all is applied that the log holds. */
  lead(): void {
    const { state, journal, reach, context, config } = this;
    this.#room.settle();
    // Where it cannot be told now, whoever is to be answered waits for the next try.
    if (journal.sequence > 0) reach.tell().catch(() => undefined);
    reach.advanced();
    this.#writing = new Writing({
      ...{ state, journal, reach, context },
      vault: this.#vault,
      proofs: this.#proofs,
      room: this.#room,
      imports: this.#import,
      onCommit: () => {
        reach.advanced();
        this.index.maintain();
        this.#snapshots?.consider();
      },
      shown: (error) => this.#shown(error),
    });
    const { snapshots } = context;
    if (snapshots === undefined) return;
    const make = (upTo: number): Promise<SavedSnapshot | undefined> => this.#past.snapshot(upTo);
    const { snapshot, unread } = this.opened;
    this.#snapshots ??= new CollectionSnapshots(config.id, snapshots, snapshot, () => journal, make);
    this.#snapshots.consider();
    if (unread === undefined) return;
    const check: CheckLog = (...asked) => this.#past.check(...asked);
    this.#logCheck ??= new CollectionLogCheck(config.id, snapshots, unread, check, (damage) => this.#shown(damage));
  }

  get isHeld(): boolean {
    return this.#writing?.isHeld ?? false;
  }

  /** Whether no commit is under way; what comes waits until `resume`. */
  pause(withinMs: number): Promise<boolean> {
    return this.#leading.pause(withinMs);
  }

  resume(): void {
    this.#writing?.resume();
  }

  /** What waits is answered by whoever owns the collection next. Resolves when no commit is under way. */
  async standDown(): Promise<void> {
    const writing = this.#writing;
    this.#writing = undefined;
    this.journal.feed = undefined;
    this.reach.forget();
    writing?.end(moved());
    await writing?.idle();
  }

  /** Reads and applies what the log holds beyond the state. Of a follower. */
  async catchUp(): Promise<void> {
    await this.#showing(() => this.journal.catchUp());
    this.index.maintain();
  }

  /** The same of a follower that becomes the owner. Throws Damaged where the log is not as it was noted. */
  async takeOver(): Promise<void> {
    await this.#showing(() => this.reach.confirm());
    this.index.maintain();
  }

  /** Of a follower: as `Journal.take`. */
  async take(committed: StoredFrame): Promise<boolean> {
    const isTaken = await this.#showing(() => this.journal.take(committed));
    this.index.maintain();
    return isTaken;
  }

  /** Of an owner: verifies the vault's entry for one key, where live records stand under it. Throws where it is damaged. */
  async checkKey(keyId: string): Promise<void> {
    if (this.#writing !== undefined) await this.#showing(() => this.#vault.checkKey(keyId));
  }

  /** Of an owner: verifies them for all its keys. False where it is not the owner. Throws where one is damaged. */
  async checkKeys(rest: (entries: number) => Promise<void>): Promise<boolean> {
    const writing = this.#writing;
    if (writing === undefined) return false;
    const { id: collectionId } = this.config;
    const { keys, closed } = await this.#showing(() =>
      this.#vault.checkKeys(async (entries) => {
        await rest(entries);
        if (this.#writing !== writing) throw moved();
      }),
    );
    const { logger } = this.context;
    if (closed > 0) logger.warn({ collectionId, keys: closed }, 'records are under keys that cannot be opened here');
    else if (keys > 0) logger.info({ collectionId, keys }, 'the vault entries of the collection are whole');
    return true;
  }

  /** As `CollectionIndex.asDesired`. */
  indexAsDesired(): Promise<void> {
    return this.index.asDesired();
  }

  set feed(feed: Feed | undefined) {
    this.journal.feed = feed;
  }

  /** Committed events in whole frames. */
  get sequence(): number {
    return this.journal.sequence;
  }

  get isWhole(): boolean {
    return this.journal.isWhole;
  }

  /** Where the state is that after a whole frame, which is its sequence, and its hash. */
  stateHash(): { readonly sequence: number; readonly stateHash: string } | undefined {
    const { journal } = this;
    if (!journal.isWhole || journal.sequence === 0) return undefined;
    return { sequence: journal.sequence, stateHash: toHex(journal.stateHash()) };
  }

  /** After event `sequence`; undefined where it cannot be told cheaply. */
  stateHashAt(sequence: number, deadlineMs: number): Promise<string | undefined> {
    return this.#past.hashAt(sequence, new Pace(this.context.clock, deadlineMs));
  }

  /** As `CollectionState.isAsHashed`. */
  isAsHashed(recordId: number): boolean {
    return this.state.isAsHashed(recordId);
  }

  /** Ids that were given. */
  get records(): number {
    return this.state.nextRecordId - 1;
  }

  /** Nothing that may take long is begun or goes on: the collection is about to be closed. */
  hurry(): void {
    this.#writing?.hurry();
    this.index.hurry();
    this.#proofs.hurry();
    this.#logCheck?.stop();
    void this.#past.close();
  }

  /** Finishes the commit under way; what waits behind it is refused. `keep`: this shard will open it again. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    const writing = this.#writing;
    writing?.end(moved());
    this.hurry();
    await writing?.idle();
    await this.index.close({ keep });
    await this.#past.close();
    await this.#snapshots?.close();
    await this.#logCheck?.close();
    await writing?.answered();
    if (keep) await this.reach.last();
    this.reach.forget();
    await this.log.close();
    this.state.vectors.destroy();
  }

  async #search(call: SearchCall, { deadlineMs }: Envelope): Promise<Results['search']> {
    const query = componentsOf(call.query);
    const pace = (): Pace => new Pace(this.context.clock, deadlineMs);
    const { asOf } = call;
    const sequence = call.tellSequence && { sequence: this.journal.seenSequence };
    if (asOf === undefined) {
      const { vectors, metadata, texts, graph, insertions } = this.state;
      const searched = { vectors, metadata, texts, graph, insertions, index: this.index };
      return { ...resultOf(await search(searched, query, call, pace)), ...sequence };
    }
    const past = await this.#showing(() => this.#past.search({ call, asOf, query, deadlineMs, pace }));
    return { ...resultOf(past.found), ...sequence, asOf: past.asOf };
  }

  async #showing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#shown(error);
    }
  }

  /** What the caller is told. Once its log is damaged, a collection that went on would build upon the damage. */
  #shown(error: unknown): unknown {
    if (!(error instanceof Damaged)) return error;
    this.#logCheck?.stop();
    const quarantine = this.onDamage(error);
    this.#writing?.refuse(quarantine);
    return quarantine;
  }

  get #leading(): Writing {
    if (this.#writing === undefined) throw moved();
    return this.#writing;
  }
}
