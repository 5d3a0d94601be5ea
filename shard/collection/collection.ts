/**
 * A collection is a single ordered machine:
 *
 *   validate → append to the log → apply to the state → answer
 *
 * Nothing is applied before it is durable, nothing is answered before it is applied. Writes that wait while a commit is
 * under way join the next frame. Recovery is the same code as normal operation: read frames, verify, apply.
 */
import type { CollectionConfig, ControlCall, ReadCall, Results, SearchCall, WriteCall } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable, unreachable, type VouchError } from '../../shared/errors.js';
import type { IndexKind } from '../../shared/indexSpec.js';
import type { EventLog, EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { Pace } from '../graph/pace.js';
import { readGraph } from '../graph/read.js';
import { CollectionIndex } from '../index/collectionIndex.js';
import type { IndexServices } from '../index/services.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { ShardMetrics } from '../metrics.js';
import { moving } from '../moving.js';
import { CollectionPast } from '../past/collectionPast.js';
import type { PastStates } from '../past/pastStates.js';
import type { Quota } from '../quota.js';
import type { Found } from '../search/found.js';
import { search } from '../search/search.js';
import { CollectionState } from './collectionState.js';
import { Damaged, noticingDamage } from './damaged.js';
import { type Answer, FramePlan, missing } from './framePlan.js';
import { Journal } from './journal.js';
import { WriteHold } from './writeHold.js';
import { type Waiting, WriteQueue } from './writeQueue.js';

export interface CollectionContext {
  readonly logs: EventLogs;
  readonly transport: Transport;
  readonly memory: VectorMemory;
  readonly quota: Quota;
  readonly indexes: IndexServices;
  readonly pasts: PastStates;
  readonly metrics: ShardMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Request ids a collection remembers. */
  readonly dedupWindow: number;
}

type Receipts = Map<number, Results['insert']['receipt']>;

export class Collection {
  readonly #queue = new WriteQueue();
  readonly #hold: WriteHold;
  readonly #past: CollectionPast;
  #committing: Promise<void> | undefined;
  /** Why no write is taken any more. */
  #refusal: VouchError | undefined;
  /** Records of the state and of the commit whose outcome is not known yet, at most. */
  #recordsInUse = 0;

  private constructor(
    private readonly config: CollectionConfig,
    private readonly context: CollectionContext,
    private readonly log: EventLog,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly index: CollectionIndex,
    private readonly onDamage: (damage: Damaged) => VouchError,
  ) {
    this.#recordsInUse = state.liveRecords;
    this.#hold = new WriteHold(context.clock, () => this.#commitWaiting());
    this.#past = new CollectionPast(config, log, state, journal, context.pasts, context.metrics.past);
  }

  /** Replays the whole log; its index comes later, in the background. Throws Damaged where the log does not verify. */
  static async open(
    config: CollectionConfig,
    context: CollectionContext,
    onDamage: (damage: Damaged) => VouchError,
  ): Promise<Collection> {
    const log = await noticingDamage(() => context.logs.open(config.id));
    const vectors = new VectorBlocks(context.memory, config.dimension);
    try {
      const state = new CollectionState(config, vectors, context.dedupWindow);
      const journal = new Journal(config, log, state, context.clock);
      await journal.catchUp();
      const index = await CollectionIndex.open(
        {
          config,
          vectors,
          get sequence() {
            return journal.sequence;
          },
          liveSlotOf: (recordId) => state.liveSlotOf(recordId),
        },
        context.indexes,
      );
      state.onDeath = (slot) => index.removed(slot);
      return new Collection(config, context, log, state, journal, index, onDamage);
    } catch (error) {
      vectors.destroy();
      await log.close();
      throw error;
    }
  }

  get recordsInUse(): number {
    return Math.max(this.#recordsInUse, this.state.liveRecords);
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
      default:
        return unreachable(call);
    }
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const answer = this.#queue.add(call, envelope);
    this.context.metrics.waiting(1);
    this.#commitWaiting();
    return answer.finally(() => this.context.metrics.waiting(-1));
  }

  async control(call: ControlCall): Promise<Results[ControlCall['op']]> {
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
      default:
        return unreachable(call);
    }
  }

  /** Nothing that may take long is begun or goes on: the collection is about to be closed. */
  hurry(): void {
    this.#hold.over();
    this.index.hurry();
    void this.#past.close();
  }

  /** Finishes the commit under way; what waits behind it is refused. `keep`: this shard will open it again. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.#refuseWrites(moving());
    this.hurry();
    await this.#committing;
    await this.index.close({ keep });
    await this.#past.close();
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
    try {
      const past = await this.#past.search({ call, asOf, query, deadlineMs, pace });
      return { ...resultOf(past.found), asOf: past.asOf };
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
      if (!this.journal.unsettled) this.#recordsInUse = this.state.liveRecords;
      this.index.maintain();
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
      try {
        waiting.resolve(await this.#result(answer, receipts));
      } catch (error) {
        waiting.reject(this.#shown(error));
      }
    }
  }

  /** What the caller is told. Once its log is damaged, a collection that went on would build upon the damage. */
  #shown(error: unknown): unknown {
    if (!(error instanceof Damaged)) return error;
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
    const { clock, quota } = this.context;
    const records = taken.reduce((sum, waiting) => sum + waiting.records, 0);
    const wanted = this.state.liveRecords + records;
    this.#recordsInUse = wanted;
    const { records: granted, isFinal } =
      records === 0
        ? { records: wanted, isFinal: true }
        : await quota.grant(this.config.project, this.config.id, wanted);
    const plan = new FramePlan(this.state, {
      sequence: this.journal.sequence + 1,
      timeMs: Math.max(clock.nowMs(), this.journal.timeMs),
      headroom: granted - this.state.liveRecords,
      isHeadroomFinal: isFinal,
    });
    // A record that is logged must find its place: the memory is taken before, and refused before.
    this.state.vectors.reserve(Math.min(records, granted));
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

  async #result(answer: Answer, receipts: Receipts): Promise<Results[WriteCall['op']]> {
    switch (answer.kind) {
      case 'insert': {
        const { recordId, sequence } = answer.write;
        // The write a replay repeats may lie far back: its receipt is made again from the log and the tree's history.
        const receipt = receipts.get(sequence) ?? (await this.journal.receiptAt(sequence));
        return { id: recordId, deduplicated: answer.deduplicated, receipt };
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

const resultOf = ({ ids, scores, aged, hops }: Found): Results['search'] => ({
  ids: bytesOf(ids),
  scores: bytesOf(scores),
  ...(aged === undefined ? {} : { factors: bytesOf(aged.factors), agesSecs: bytesOf(aged.agesSecs) }),
  ...(hops === undefined ? {} : { hops: bytesOf(hops) }),
});

const bytesOf = (numbers: Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);

/** Of little-endian bytes at any alignment. */
const componentsOf = (bytes: Uint8Array): Int32Array =>
  bytes.byteOffset % 4 === 0
    ? new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
    : new Int32Array(Uint8Array.from(bytes).buffer);
