/**
 * The writes of a collection while one shard owns it: they wait, are committed together, and are answered.
 *
 * ```text
 * Open ──pause──▶ paused (new writes wait) ──resume──▶ open.
 *   └────────end────────┴──▶ over (waiting and new writes are refused).
 * ```
 *
 * A commit that runs when the ownership ends is finished, and its writes get their results.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { refusal, unavailable, unreachable, type VouchError } from '../../shared/errors/errors.js';
import { DELETED_MAX, PATCHED_MAX } from '../../shared/limits.js';
import { ACTOR_BYTES_MAX } from '../../shared/log/actorCodec.js';
import type { Event } from '../../shared/log/event.js';
import { SYSTEM } from '../../shared/model/actor.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { DeleteManyCall, InsertEncryptedCall, PatchManyCall, WriteCall } from '../../shared/protocol/writes.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { Slice } from '../../shared/scheduling/slice.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { cutShort, moved } from '../../shared/transport/transportErrors.js';
import { bytesOf } from '../search/found.js';
import { CommitBuilder, patchIn } from '../state/commitBuilder.js';
import { planDeletions } from '../state/planDeletions.js';
import type { SealedCall, WriteAnswer } from '../state/plannedCalls.js';
import { planPatches } from '../state/planPatches.js';
import { recordsOf } from '../state/recordsOf.js';
import { type CollectionParts, importFrames, startCommit } from './logImport.js';
import { WriteHold } from './writeHold.js';
import { deletionsBytes, END_BYTES, mayGrow, type Waiting, WriteQueue } from './writeQueue.js';

/** Largest number of writes that wait for their answer. Receipts of repeated writes may be slow, and are made one at a time. */
const ANSWERING_MAX = 4_096;

type Receipts = Map<number, Results['insert']['receipt']>;

interface Planned {
  readonly waiting: Waiting;
  readonly answer: WriteAnswer;
}

interface Refused {
  readonly waiting: Waiting;
  readonly error: unknown;
}

export class CommitLoop {
  readonly writeHold: WriteHold;
  readonly #queue: WriteQueue;
  #committing: Promise<void> | undefined;
  /** Answers in progress of writes that are committed, or repeat a committed one. */
  readonly #answering = new Set<Promise<void>>();
  #isPaused = false;
  /** Reason for refusing all writes; undefined while they are accepted. */
  #refusal: VouchError | undefined;
  #endOwnership: () => void = () => undefined;
  readonly #ownershipEnded: Promise<void>;

  /** `onCommit` is called after every commit, even a failed one. */
  constructor(
    private readonly parts: CollectionParts,
    private readonly onCommit: () => void,
    private readonly toCallerError: (error: unknown) => unknown,
  ) {
    const { clock, admission, limits } = parts.context;
    this.#queue = new WriteQueue(clock, admission, limits.metadataBytes);
    this.writeHold = new WriteHold(() => this.#commitWaiting());
    this.#ownershipEnded = new Promise((resolve) => {
      this.#endOwnership = resolve;
    });
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (mayGrow(call)) this.#assertMayGrow();
    return call.op === 'insertEncrypted' ? this.#insertEncrypted(call, envelope) : this.#enqueue(call, envelope);
  }

  /** Begins no commit until the hold is released. Resolves when the running one has ended. */
  async hold(token: string, holdMs: number): Promise<void> {
    this.writeHold.take(token, holdMs);
    await this.#committing;
  }

  /** Imports frames between two commits. */
  async importFrames(
    frames: readonly Uint8Array[],
    upTo: number,
    envelope: Envelope,
  ): Promise<Results['importFrames']> {
    // Do not use `idle()`: in the turn in which it resolves, another import could begin too.
    while (this.#committing !== undefined) await this.#committing;
    this.#assertImporting();
    this.#assertMayGrow();
    return this.#betweenCommits(this.#import(frames, upTo, envelope));
  }

  /** Settles the journal, unless a commit runs, which does it. */
  async settle(): Promise<void> {
    const { journal, capacity } = this.parts;
    if (this.#committing !== undefined || !journal.canSettle) return;
    await this.#betweenCommits(journal.settle().then(() => capacity.release()));
  }

  /** Begins no commit before the end of the work, which has begun. */
  #betweenCommits<T>(begun: Promise<T>): Promise<T> {
    const work = begun.catch((error: unknown) => {
      throw this.toCallerError(error);
    });
    const next = (): void => {
      this.#committing = undefined;
      this.onCommit();
      this.#commitWaiting();
    };
    this.#committing = work.then(next, next);
    return work;
  }

  async #import(
    frames: readonly Uint8Array[],
    upTo: number,
    { deadlineMs }: Envelope,
  ): Promise<Results['importFrames']> {
    const added = await importFrames(this.parts, frames, upTo, deadlineMs, () => this.#assertImporting());
    // An import that was answered must not depend on a later note.
    await this.parts.watermark.note();
    return added;
  }

  /** Resolves like `work`, or throws `refusal` as soon as the ownership is over. */
  orOwnershipEnded<T>(work: Promise<T>, refusal: () => VouchError = cutShort): Promise<T> {
    const over = this.#ownershipEnded.then((): never => {
      throw refusal();
    });
    return Promise.race([work, over]);
  }

  /** Returns false if the running commit does not end in time. In both cases no commit begins until `resume`. */
  async pause(withinMs: number): Promise<boolean> {
    this.#isPaused = true;
    if (this.#committing === undefined) return true;
    const ended = new AbortController();
    const late = delay(withinMs, false, { signal: ended.signal, ref: false }).catch(() => false);
    const isIdle = await Promise.race([this.#committing.then(() => true), late]);
    ended.abort();
    return isIdle;
  }

  resume(): void {
    this.#isPaused = false;
    this.#commitWaiting();
  }

  /** Ends the ownership for good. */
  end(refusal: VouchError): void {
    this.refuse(refusal);
    this.#endOwnership();
    this.writeHold.over();
  }

  /**
   * Refuses all writes. Unlike `end` it leaves holds and index builds alone: damage of the log does not concern them.
   */
  refuse(refusal: VouchError): void {
    this.#refusal = refusal;
    this.#queue.rejectAll(refusal);
  }

  /** Resolves when no commit runs. */
  async idle(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  /** Resolves when every committed write is answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#answering);
  }

  async #insertEncrypted(call: InsertEncryptedCall, envelope: Envelope): Promise<unknown> {
    const { vault } = this.parts;
    const seal = async () => (await vault.replay(call.requestId)) ?? (await vault.seal(call, envelope.deadlineMs));
    const sealed = await seal().catch((error: unknown) => {
      const shown = this.toCallerError(error);
      // The vault judges by a state that may be outdated once the ownership is over.
      throw this.#refusal ?? shown;
    });
    if ('op' in sealed) return this.#enqueue(sealed, envelope);
    await this.#ensureNoted();
    return sealed;
  }

  async #enqueue(call: SealedCall, envelope: Envelope): Promise<unknown> {
    // Sealing takes a while, so the ownership may have ended.
    if (this.#refusal !== undefined) throw this.#refusal;
    const { admission, metrics } = this.parts.context;
    if (this.#answering.size >= ANSWERING_MAX) throw admission.refusal('receipts');
    const answer = this.#queue.add(call, envelope, this.#isKept);
    metrics.change('vouch_writes_waiting', 1);
    this.#commitWaiting();
    return answer.finally(() => metrics.change('vouch_writes_waiting', -1));
  }

  get #isKept(): boolean {
    return this.#isPaused || this.writeHold.isHeld;
  }

  /** Throws if the memory of the shard or the common store is nearly full. */
  #assertMayGrow(): void {
    const { context, config } = this.parts;
    context.memoryGuard.assertMayWrite();
    context.storeGuard.assertMayWrite(config.project);
  }

  /** Throws unless an import may run. A `moved` import is sent to the next owner, which skips stored frames. */
  #assertImporting(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#isPaused) throw moved();
  }

  #commitWaiting(): void {
    if (!this.#isKept) this.#committing ??= this.#commitAll();
  }

  async #commitAll(): Promise<void> {
    // Writes of one message go into one frame.
    await Promise.resolve();
    while (!this.#queue.isEmpty && !this.#isKept) {
      const taken = this.#queue.take(this.parts.journal.eventBytesMax);
      try {
        await this.#commit(taken);
      } catch (error) {
        const shown = this.toCallerError(error);
        for (const { reject } of taken) reject(shown);
      }
      this.#queue.committed();
      this.parts.capacity.release();
      this.onCommit();
    }
    this.#committing = undefined;
  }

  async #commit(taken: readonly Waiting[]): Promise<void> {
    const { journal, context } = this.parts;
    await journal.settle();
    const { plan, planned, refused } = await this.#plan(taken);
    const receipts: Receipts = new Map();
    if (plan.events.length > 0) {
      const singles = new Set(
        planned.flatMap(({ answer }) => (answer.kind === 'insert' ? [answer.write.sequence] : [])),
      );
      const deadlineMs = Math.max(...planned.map(({ waiting }) => waiting.envelope.deadlineMs));
      const onDurable = startCommit(context.metrics, plan.events.length);
      await journal.commit(plan.events, plan.liveRecords, deadlineMs, onDurable, (sequence, makeReceipt) => {
        if (singles.has(sequence)) receipts.set(sequence, makeReceipt());
      });
    }
    await this.#ensureNoted();
    for (const { waiting, error } of refused) waiting.reject(error);
    for (const { waiting, answer } of planned) {
      // Do not await it: the receipt of a repeated write may be slow, and the next commit does not depend on it.
      const answering = this.#result(answer, receipts, waiting.envelope)
        .then(waiting.resolve, (error: unknown) => waiting.reject(this.toCallerError(error)))
        .finally(() => this.#answering.delete(answering));
      this.#answering.add(answering);
    }
  }

  /** Ensures a watermark before any write is answered: without one, a loss of the log would go unnoticed. */
  async #ensureNoted(): Promise<void> {
    if (this.parts.journal.sequence > 0) await this.parts.watermark.ensureNoted();
  }

  /** Plans a commit. `refused` depend on earlier writes of this commit; they are rejected once those are durable. */
  async #plan(
    taken: readonly Waiting[],
  ): Promise<{ readonly plan: CommitBuilder; readonly planned: Planned[]; readonly refused: Refused[] }> {
    const { config, state, capacity, context } = this.parts;
    const brought = { records: 0, vectors: 0, replaceable: 0, growthBytes: 0 };
    // Calls that no quota refuses still take room in the log: the other writes of the commit reserve it too.
    let besidesBytes = 0;
    for (const { call, records, replaceable, growthBytes, sizeBytes } of taken) {
      brought.records += records;
      if (call.op !== 'insertEncrypted') brought.vectors += records;
      brought.replaceable += replaceable;
      brought.growthBytes += growthBytes;
      if (growthBytes === 0) besidesBytes += sizeBytes;
    }
    if (brought.growthBytes > 0) brought.growthBytes += besidesBytes;
    const room = await capacity.take(brought);
    noteWork('commit', config);
    const plan = new CommitBuilder(state, room, context.limits);
    const planned: Planned[] = [];
    const refused: Refused[] = [];
    for (const waiting of taken) {
      try {
        if (context.clock.nowMs() > waiting.envelope.deadlineMs)
          throw unavailable('the deadline passed before the commit');
        const { call, envelope } = waiting;
        plan.as(envelope.actor ?? SYSTEM);
        planned.push({ waiting, answer: await this.#planned(plan, call) });
      } catch (error) {
        if (plan.events.length === 0) waiting.reject(error);
        else refused.push({ waiting, error });
      }
    }
    return { plan, planned, refused };
  }

  /** Plans a write. The state does not change until the commit, even during a rest. */
  async #planned(plan: CommitBuilder, call: SealedCall): Promise<WriteAnswer> {
    switch (call.op) {
      case 'deleteMany':
        return this.#planDeletions(plan, call);
      case 'patchMany':
        return this.#planPatches(plan, call);
      case 'insertBatch':
        return plan.insertBatch(call, new Slice(this.parts.context.clock));
      default:
        return plan.add(call);
    }
  }

  /** Plans deletions. The state does not change until the commit, so exactly the records that match now are deleted. */
  async #planDeletions(plan: CommitBuilder, { of, requestId = null, since }: DeleteManyCall): Promise<WriteAnswer> {
    const { state, journal, context } = this.parts;
    const before = plan.deletedBefore(requestId);
    if (before !== undefined) return { kind: 'deletedBefore', sequence: before };
    const slice = new Slice(context.clock);
    const max = Math.min(
      DELETED_MAX,
      Math.floor((journal.eventBytesMax - END_BYTES - ACTOR_BYTES_MAX) / deletionsBytes(1)),
    );
    const recordIds = await recordsOf(state, plan, of, slice, (matching) => {
      if (matching > max) throw refusal('payload_too_large', 'deletion', { matching, max });
    });
    return planDeletions(plan, recordIds, { requestId, ...(since === undefined ? {} : { since }) }, slice);
  }

  /** Plans patches. As with deletions, exactly the records that match now are patched. */
  async #planPatches(plan: CommitBuilder, { of, patch, since }: PatchManyCall): Promise<WriteAnswer> {
    const { state, journal, context } = this.parts;
    const slice = new Slice(context.clock);
    const recordIds = await recordsOf(state, plan, of, slice, (matching) => {
      if (matching > PATCHED_MAX) throw refusal('payload_too_large', 'patch', { matching, max: PATCHED_MAX });
    });
    const bytesMax = journal.eventBytesMax - ACTOR_BYTES_MAX;
    return planPatches(plan, recordIds, { patch: patchIn(patch), since, bytesMax }, slice);
  }

  async #result(answer: WriteAnswer, receipts: Receipts, { deadlineMs }: Envelope): Promise<Results[WriteCall['op']]> {
    const { journal, proofs, vault } = this.parts;
    switch (answer.kind) {
      case 'insert': {
        const { recordId, sequence } = answer.write;
        // A repeated write may be far back: its receipt is made again from the log and the history of the tree.
        const receipt = receipts.get(sequence) ?? (await proofs.receipt(sequence, deadlineMs));
        return { id: recordId, deduplicated: answer.deduplicated, receipt };
      }
      case 'encrypted': {
        const { keyId, write } = answer;
        return keyId === null ? vault.replayOf(write) : { id: write.recordId, keyId };
      }
      case 'batch':
        return { ids: bytesOf(answer.ids), created: answer.created };
      case 'deleted':
        return { deleted: answer.deleted, missing: answer.missing, sequence: answer.sequence };
      case 'patched':
        return { updated: answer.updated, missing: answer.missing, sequence: answer.sequence };
      case 'deletedBefore':
        return deletedBefore(await journal.eventAt(answer.sequence));
      case 'added':
      case 'changed':
        return { id: answer.id, sequence: answer.sequence };
      case 'sequence':
        return { sequence: answer.sequence };
      default:
        return unreachable(answer);
    }
  }
}

function deletedBefore(event: Event): Results['deleteMany'] {
  if (event.type !== 'deleteMany') throw new RangeError(`event ${event.sequence} ends no deletions`);
  return { deleted: event.deleted, missing: [], sequence: event.sequence - 1, deduplicated: true };
}
