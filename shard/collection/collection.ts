/**
 * A collection is a single ordered machine:
 *
 *   validate → append to the log → apply to the state → answer
 *
 * Nothing is applied before it is durable, nothing is answered before it is applied. Writes that wait while a commit is
 * under way join the next frame. Recovery is the same code as normal operation: read frames, verify, apply.
 */
import type {
  CollectionConfig,
  ControlCall,
  InsertEncryptedCall,
  ReadCall,
  Results,
  SearchCall,
  WriteCall,
} from '../../shared/calls.js';
import { unavailable, unreachable, type VouchError } from '../../shared/errors.js';
import type { IndexKind } from '../../shared/indexSpec.js';
import type { EventLog } from '../../shared/log/eventLog.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { CollectionVault } from '../encrypted/collectionVault.js';
import type { SealedCall } from '../encrypted/sealedCall.js';
import { Pace } from '../graph/pace.js';
import { readGraph } from '../graph/read.js';
import { CollectionIndex } from '../index/collectionIndex.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import { moving } from '../moving.js';
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
import { type Answer, FramePlan, missing } from './framePlan.js';
import type { Journal } from './journal.js';
import { LogImport } from './logImport.js';
import { LogReading } from './logReading.js';
import { bytesOf, componentsOf, resultOf } from './resultBytes.js';
import { WriteHold } from './writeHold.js';
import { type Waiting, WriteQueue } from './writeQueue.js';

/** Receipts of repeated writes may take a while each, and are made one at a time. */
const ANSWERING_MAX = 4_096;

type Receipts = Map<number, Results['insert']['receipt']>;

export class Collection {
  readonly #queue = new WriteQueue();
  readonly #hold: WriteHold;
  readonly #past: CollectionPast;
  readonly #snapshots: CollectionSnapshots | undefined;
  readonly #logCheck: CollectionLogCheck | undefined;
  readonly #vault: CollectionVault;
  readonly #proofs: CollectionProofs;
  readonly #reading: LogReading;
  readonly #import: LogImport;
  readonly #room: CommitRoom;
  #committing: Promise<void> | undefined;
  /** Writes that are committed, or repeat one that is, and whose answer is still being made. */
  readonly #answering = new Set<Promise<void>>();
  /** Why no write is taken any more. */
  #refusal: VouchError | undefined;

  private constructor(
    config: CollectionConfig,
    private readonly context: CollectionContext,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly index: CollectionIndex,
    { snapshot, unread }: OpenState,
    private readonly onDamage: (damage: Damaged) => VouchError,
  ) {
    this.#room = new CommitRoom(config, state, journal, context.quota, context.clock);
    this.#hold = new WriteHold(context.clock, () => this.#commitWaiting());
    this.#proofs = new CollectionProofs(config, state, journal, context.signer, context.clock);
    this.#vault = new CollectionVault(config, state, journal, context.vault, context.quota);
    this.#reading = new LogReading(log, journal.history, context.clock);
    this.#import = new LogImport(config, state, journal, this.#room, this.#proofs, this.#vault, context);
    const { snapshots, dedupWindow } = context;
    const place = snapshots && { folder: snapshots.store.folderOf(config.id), dedupWindow };
    this.#past = new CollectionPast(config, log, state, journal, { ...context, metrics: context.metrics.past }, place);
    const make = (upTo: number): Promise<SavedSnapshot | undefined> => this.#past.snapshot(upTo);
    this.#snapshots = snapshots && new CollectionSnapshots(config.id, snapshots, snapshot, () => journal, make);
    this.#snapshots?.consider();
    const check: CheckLog = (...asked) => this.#past.check(...asked);
    if (snapshots !== undefined && unread !== undefined)
      this.#logCheck = new CollectionLogCheck(config.id, snapshots, unread, check, (damage) => this.#shown(damage));
  }

  /**
   * Reads its newest snapshot, and the log from there on; its index comes later, in the background. Throws Damaged where
   * the log does not verify.
   */
  static async open(
    config: CollectionConfig,
    context: CollectionContext,
    onDamage: (damage: Damaged) => VouchError,
  ): Promise<Collection> {
    const log = await noticingDamage(() => context.logs.open(config.id));
    let vectors: VectorBlocks | undefined;
    try {
      const opened = await openState(config, log, context);
      const { state, journal } = opened;
      vectors = state.vectors;
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
      return new Collection(config, context, log, state, journal, index, opened, onDamage);
    } catch (error) {
      vectors?.destroy();
      await log.close();
      throw error;
    }
  }

  get recordsInUse(): number {
    return this.#room.recordsInUse;
  }

  count(): { records: number; logBytes: number } {
    return { records: this.state.liveRecords, logBytes: this.journal.logBytes };
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
        return { ...this.count(), sequence: this.journal.sequence };
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
    if (this.#refusal !== undefined) throw this.#refusal;
    return call.op === 'insertEncrypted' ? this.#insertEncrypted(call, envelope) : this.#enqueue(call, envelope);
  }

  async control(call: ControlCall, envelope: Envelope): Promise<Results[ControlCall['op']]> {
    switch (call.op) {
      case 'configureIndex':
        return this.index.configure(call.spec);
      case 'hold':
        this.#hold.take(call.token, call.holdMs);
        await this.#committing;
        return null;
      case 'release':
        this.#hold.release(call.token);
        return null;
      case 'rebuild':
        await this.index.rebuild(call.kind);
        return { records: this.state.liveRecords };
      case 'importFrames':
        return this.#importFrames(call.frames, call.upTo, envelope);
      default:
        return unreachable(call);
    }
  }

  /** Nothing that may take long is begun or goes on: the collection is about to be closed. */
  hurry(): void {
    this.#hold.over();
    this.index.hurry();
    this.#proofs.hurry();
    this.#logCheck?.stop();
    void this.#past.close();
  }

  /** Finishes the commit under way; what waits behind it is refused. `keep`: this shard will open it again. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#refuseWrites(moving());
    this.hurry();
    await this.#committing;
    await this.index.close({ keep });
    await this.#past.close();
    await this.#snapshots?.close();
    await this.#logCheck?.close();
    await Promise.all(this.#answering);
    await this.log.close();
    this.state.vectors.destroy();
  }

  async #search(call: SearchCall, { deadlineMs }: Envelope): Promise<Results['search']> {
    const query = componentsOf(call.query);
    const pace = (): Pace => new Pace(this.context.clock, deadlineMs);
    const { asOf } = call;
    if (asOf === undefined) {
      const { vectors, metadata, texts, graph, insertions } = this.state;
      const searched = { vectors, metadata, texts, graph, insertions, index: this.index };
      return resultOf(await search(searched, query, call, pace));
    }
    const past = await this.#showing(() => this.#past.search({ call, asOf, query, deadlineMs, pace }));
    return { ...resultOf(past.found), asOf: past.asOf };
  }

  async #insertEncrypted(call: InsertEncryptedCall, envelope: Envelope): Promise<unknown> {
    const sealed = await this.#showing(
      async () => (await this.#vault.replay(call.requestId)) ?? (await this.#vault.seal(call, envelope.deadlineMs)),
    );
    return 'op' in sealed ? this.#enqueue(sealed, envelope) : sealed;
  }

  async #enqueue(call: SealedCall, envelope: Envelope): Promise<unknown> {
    // Sealing takes a while, and the collection may have been closed meanwhile.
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#answering.size >= ANSWERING_MAX)
      throw unavailable('too many repeated writes wait for their receipts; retry shortly');
    const answer = this.#queue.add(call, envelope);
    this.context.metrics.waiting(1);
    this.#commitWaiting();
    return answer.finally(() => this.context.metrics.waiting(-1));
  }

  async #showing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.#shown(error);
    }
  }

  #commitWaiting(): void {
    if (!this.#hold.isHeld) this.#committing ??= this.#commitAll();
  }

  async #commitAll(): Promise<void> {
    // What arrives in the same message as the first write goes into the same frame.
    await Promise.resolve();
    while (!this.#queue.isEmpty && !this.#hold.isHeld) {
      const taken = this.#queue.take(this.journal.eventBytesMax);
      try {
        await this.#commit(taken);
      } catch (error) {
        const shown = this.#shown(error);
        for (const { reject } of taken) reject(shown);
      }
      this.#room.settle();
      this.index.maintain();
      this.#snapshots?.consider();
    }
    this.#committing = undefined;
  }

  async #commit(taken: readonly Waiting[]): Promise<void> {
    await this.journal.settle();
    const { plan, planned } = await this.#plan(taken);
    const receipts: Receipts = new Map();
    if (plan.events.length > 0) {
      const singles = new Set(
        planned.flatMap(({ answer }) => (answer.kind === 'insert' ? [answer.write.sequence] : [])),
      );
      const deadlineMs = Math.max(...planned.map(({ waiting }) => waiting.envelope.deadlineMs));
      const onDurable = this.context.metrics.startCommit(plan.events.length);
      await this.journal.commit(plan.events, plan.liveRecords, deadlineMs, onDurable, (sequence, makeReceipt) => {
        if (singles.has(sequence)) receipts.set(sequence, makeReceipt());
      });
    }
    for (const { waiting, answer } of planned) {
      // Not waited for: the receipt of a replay may take a while, and the next commit need not.
      const answering = this.#result(answer, receipts, waiting.envelope)
        .then(waiting.resolve, (error: unknown) => waiting.reject(this.#shown(error)))
        .finally(() => this.#answering.delete(answering));
      this.#answering.add(answering);
    }
  }

  /** What the caller is told. Once its log is damaged, a collection that went on would build upon the damage. */
  #shown(error: unknown): unknown {
    if (!(error instanceof Damaged)) return error;
    this.#logCheck?.stop();
    const quarantine = this.onDamage(error);
    this.#refuseWrites(quarantine);
    return quarantine;
  }

  #refuseWrites(refusal: VouchError): void {
    this.#refusal = refusal;
    this.#queue.rejectAll(refusal);
  }

  async #plan(
    taken: readonly Waiting[],
  ): Promise<{ plan: FramePlan; planned: { waiting: Waiting; answer: Answer }[] }> {
    const { clock } = this.context;
    const records = taken.reduce((sum, waiting) => sum + waiting.records, 0);
    const vectors = taken.reduce((sum, { call, records }) => sum + (call.op === 'insertEncrypted' ? 0 : records), 0);
    const plan = new FramePlan(this.state, await this.#room.take(records, vectors));
    const planned: { waiting: Waiting; answer: Answer }[] = [];
    for (const waiting of taken) {
      try {
        if (clock.nowMs() > waiting.envelope.deadlineMs) throw unavailable('the deadline passed before the commit');
        planned.push({ waiting, answer: plan.add(waiting.call) });
      } catch (error) {
        waiting.reject(error);
      }
    }
    return { plan, planned };
  }

  /** Between two commits: an import waits for the one under way, and the next for the import. */
  async #importFrames(
    frames: readonly Uint8Array[],
    upTo: number,
    envelope: Envelope,
  ): Promise<Results['importFrames']> {
    while (this.#committing !== undefined) await this.#committing;
    if (this.#refusal !== undefined) throw this.#refusal;
    const importing = this.#showing(() => this.#import.add(frames, upTo, envelope.deadlineMs));
    const next = (): void => {
      this.#committing = undefined;
      this.index.maintain();
      this.#snapshots?.consider();
      this.#commitWaiting();
    };
    this.#committing = importing.then(next, next);
    return importing;
  }

  async #result(answer: Answer, receipts: Receipts, { deadlineMs }: Envelope): Promise<Results[WriteCall['op']]> {
    switch (answer.kind) {
      case 'insert': {
        const { recordId, sequence } = answer.write;
        // The write a replay repeats may lie far back: its receipt is made again from the log and the tree's history.
        const receipt = receipts.get(sequence) ?? (await this.#proofs.receipt(sequence, deadlineMs));
        return { id: recordId, deduplicated: answer.deduplicated, receipt };
      }
      case 'encrypted': {
        const { keyId, write } = answer;
        return keyId === null ? this.#vault.replayOf(write) : { id: write.recordId, keyId };
      }
      case 'batch':
        return { ids: bytesOf(answer.ids) };
      case 'added':
        return { id: answer.id, sequence: answer.sequence };
      case 'sequence':
        return { sequence: answer.sequence };
      default:
        return unreachable(answer);
    }
  }
}
