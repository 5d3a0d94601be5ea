/**
 * A collection is a single ordered machine:
 *
 *   validate → append to the log → apply to the state → answer
 *
 * Nothing is applied before it is durable, nothing is answered before it is applied. Writes that wait while a commit is
 * under way join the next frame. Recovery is the same code as normal operation: read frames, verify, apply.
 */
import type { CollectionConfig, ReadCall, Results, WriteCall } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable, unreachable, type VouchError } from '../../shared/errors.js';
import type { EventLog, EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { ShardMetrics } from '../metrics.js';
import { nextTurn } from '../pause.js';
import type { Quota } from '../quota.js';
import { CollectionState } from './collectionState.js';
import { Damaged, noticingDamage } from './damaged.js';
import { type Answer, FramePlan, missing } from './framePlan.js';
import { Journal } from './journal.js';
import { type Waiting, WriteQueue } from './writeQueue.js';

export interface CollectionContext {
  readonly logs: EventLogs;
  readonly transport: Transport;
  readonly memory: VectorMemory;
  readonly quota: Quota;
  readonly metrics: ShardMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Request ids a collection remembers. */
  readonly dedupWindow: number;
}

type Receipts = Map<number, Results['insert']['receipt']>;

export class Collection {
  readonly #queue = new WriteQueue();
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
    private readonly onDamage: (damage: Damaged) => VouchError,
  ) {
    this.#recordsInUse = state.liveRecords;
  }

  /** Replays the whole log. Throws Damaged where it does not verify. */
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
      return new Collection(config, context, log, state, journal, onDamage);
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

  async read(call: ReadCall, _envelope: Envelope): Promise<Results[ReadCall['op']]> {
    switch (call.op) {
      case 'get': {
        const record = this.state.record(call.id);
        if (record === undefined) throw missing(call.id);
        return record;
      }
      case 'search':
        return this.#search(call.query, call.k);
      case 'describe':
        return { ...this.count(), sequence: this.journal.sequence };
      default:
        return unreachable(call);
    }
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const answer = this.#queue.add(call, envelope);
    this.context.metrics.waiting(1);
    this.#committing ??= this.#commitAll();
    return answer.finally(() => this.context.metrics.waiting(-1));
  }

  /** Finishes the commit under way; what waits behind it is refused. */
  async close(): Promise<void> {
    this.#refuseWrites(unavailable('the collection is moving to another shard; retry shortly'));
    await this.#committing;
    await this.log.close();
    this.state.vectors.destroy();
  }

  async #search(query: Uint8Array, k: number): Promise<Results['search']> {
    const { ids, scores } = await this.state.vectors.search(query, k, nextTurn);
    return { ids: bytesOf(ids), scores: bytesOf(scores) };
  }

  async #commitAll(): Promise<void> {
    // What arrives in the same message as the first write goes into the same frame.
    await Promise.resolve();
    while (!this.#queue.isEmpty) {
      const taken = this.#queue.take(this.journal.eventBytesMax);
      try {
        await this.#commit(taken);
      } catch (error) {
        const shown = this.#shown(error);
        for (const { reject } of taken) reject(shown);
      }
      if (!this.journal.unsettled) this.#recordsInUse = this.state.liveRecords;
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
      case 'sequence':
        return { sequence: answer.sequence };
      case 'rebuild':
        return { records: this.state.liveRecords };
      default:
        return unreachable(answer);
    }
  }
}

const bytesOf = (numbers: Float64Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
