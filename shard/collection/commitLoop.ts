/**
 * The writes of a collection while one shard owns it. They wait, are committed together, and are answered.
 *
 * ```text
 * Open ──pause──▶ paused (new writes wait) ──resume──▶ open.
 *   └────────end────────┴──▶ over (waiting and new writes are refused).
 * ```
 *
 * A commit that runs when the ownership ends is finished. Its writes get their results.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { unavailable, type VouchError } from '../../shared/errors/errors.js';
import { SYSTEM } from '../../shared/model/actor.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { InsertBatchCall, InsertCall, InsertEncryptedCall, WriteCall } from '../../shared/protocol/writes.js';
import { noteWork } from '../../shared/scheduling/currentWork.js';
import { KeyedMutex } from '../../shared/scheduling/mutex.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { cutShort, moved } from '../../shared/transport/transportErrors.js';
import { CommitBuilder } from '../state/commitBuilder.js';
import { expiryAt } from '../state/expiryAt.js';
import type { QueuedCall, WriteAnswer } from '../state/plannedCalls.js';
import { keyOf } from '../state/plannedRequests.js';
import { type CollectionParts, importFrames, startCommit } from './logImport.js';
import { planWrite } from './planWrite.js';
import { commitRemovals, PendingRemoval } from './removals.js';
import { WriteHold } from './writeHold.js';
import { mayGrow, type Waiting, WriteQueue } from './writeQueue.js';
import { committedResult, type Receipts, resultOf } from './writeResult.js';

/** Largest number of writes that wait for their answer. Receipts of repeated writes may be slow, and are made one at a time. */
const ANSWERING_MAX = 4_096;

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
  /** Writes that may make a vault key, by their request ids. */
  readonly #requests = new KeyedMutex<string>();
  #isPaused = false;
  /** Reason for refusing all writes; undefined while they are accepted. */
  #refusal: VouchError | undefined;
  /** Callers that wait for the removal of expired records. */
  #expiring: PendingRemoval | undefined;
  #endOwnership: () => void = () => undefined;
  readonly #ownershipEnded: Promise<void>;

  /** `onCommit` is called after every commit, even a failed one. */
  constructor(
    private readonly parts: CollectionParts,
    private readonly onCommit: () => void,
    private readonly toCallerError: (error: unknown) => unknown,
  ) {
    const { clock, admission, limits } = parts.context;
    const { state } = parts;
    // A change of a record under a key encrypts its whole content again.
    const contentBytes = (): number => (state.encrypted.hasContents ? 4 * state.dimension + limits.textBytes : 0);
    this.#queue = new WriteQueue(clock, admission, limits.metadataBytes, contentBytes);
    this.#queue.onReady = () => this.#commitWaiting();
    this.writeHold = new WriteHold(() => this.#commitWaiting());
    this.#ownershipEnded = new Promise((resolve) => {
      this.#endOwnership = resolve;
    });
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const room = mayGrow(call) ? this.#roomToGrow() : undefined;
    if (room !== undefined) await room;
    switch (call.op) {
      case 'insertEncrypted':
        return this.#afterSameRequests([call.requestId], () => this.#insertEncrypted(call, envelope));
      case 'insert':
      case 'insertBatch':
        // Enqueue in this turn, so that writes keep their order.
        if (!this.parts.vault.needsKeys(call)) return this.#enqueue(call, envelope);
        return this.#afterSameRequests(requestIdsOf(call), async () =>
          this.#enqueue(await this.#underKeys(call, envelope), envelope),
        );
      default:
        return this.#enqueue(call, envelope);
    }
  }

  /**
   * Removes the records that have expired. Call it before an answer about the present: a removal that is due and not
   * committed must not be overtaken. Throws `unavailable` if the removal cannot be stored, and `moved`.
   */
  async expire(): Promise<void> {
    if (!this.#isDue) return;
    if (this.#refusal !== undefined) throw this.#refusal;
    this.#expiring ??= new PendingRemoval();
    this.#commitWaiting();
    await this.orOwnershipEnded(this.#expiring.done, moved);
  }

  /** Begins no commit of writes until the hold is released. Resolves when the running one has ended. */
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
    await this.#roomToGrow();
    // Do not use `idle()`: in the turn in which it resolves, another import could begin too.
    while (this.#committing !== undefined) await this.#committing;
    this.#assertImporting();
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
    const added = await importFrames(this.parts, { frames, upTo, deadlineMs }, () => this.#assertImporting());
    // An import that was answered must not depend on a later note.
    await this.parts.watermark.note();
    await this.#ensureNoted();
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
    this.#expiring?.reject(refusal);
    this.#expiring = undefined;
  }

  /** Resolves when no commit runs. */
  async idle(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  /** Resolves when every committed write is answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#answering);
  }

  /** Does the work after all work with one of these request ids, so that no record gets a second key meanwhile. */
  #afterSameRequests<T>(requestIds: readonly (Uint8Array | null)[], work: () => Promise<T>): Promise<T> {
    const keys = requestIds.map(keyOf).filter((key) => key !== undefined);
    return keys.length === 0 ? work() : this.#requests.runAll(keys, work);
  }

  async #insertEncrypted(call: InsertEncryptedCall, envelope: Envelope): Promise<unknown> {
    const { vault, context } = this.parts;
    const answerOrEncrypt = async () => {
      const replayed = await vault.replay(call.requestId);
      if (replayed !== undefined) return replayed;
      // Refuse a bad expiry before a key is made for the record.
      expiryAt(context.clock.nowMs(), call.expiresAtMs, call.ttlMs);
      return vault.encrypt(call, envelope.deadlineMs);
    };
    const found = await answerOrEncrypt().catch((error: unknown) => {
      const shown = this.toCallerError(error);
      // The vault judges by a state that may be outdated once the ownership is over.
      throw this.#refusal ?? shown;
    });
    if ('op' in found) return this.#enqueue(found, envelope);
    await this.#ensureNoted();
    return found;
  }

  /** Makes the keys of the records. */
  async #underKeys<Call extends InsertCall | InsertBatchCall>(call: Call, { deadlineMs }: Envelope): Promise<Call> {
    try {
      return await this.parts.vault.underKeys(call, deadlineMs, this.parts.context.clock);
    } catch (error) {
      const shown = this.toCallerError(error);
      throw this.#refusal ?? shown;
    }
  }

  async #enqueue(call: QueuedCall, envelope: Envelope): Promise<unknown> {
    // Encryption takes a while, so the ownership may have ended.
    if (this.#refusal !== undefined) throw this.#refusal;
    const { admission, metrics } = this.parts.context;
    if (this.#answering.size >= ANSWERING_MAX) throw admission.refusal('receipts');
    const answer = this.#queue.add(call, envelope, this.#isKept);
    metrics.change('vouch_writes_waiting', 1);
    this.#commitWaiting();
    try {
      return await answer;
    } finally {
      metrics.change('vouch_writes_waiting', -1);
    }
  }

  get #isKept(): boolean {
    return this.#isPaused || this.writeHold.isHeld;
  }

  /** Throws, or returns a promise that rejects, if the memory of the shard or the common store is nearly full. */
  #roomToGrow(): Promise<void> | undefined {
    const { context, config } = this.parts;
    context.memoryGuard.assertMayWrite();
    return context.storeGuard.room(config.project);
  }

  /** Throws unless an import may run. A `moved` import is sent to the next owner, which skips stored frames. */
  #assertImporting(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#isPaused) throw moved();
  }

  #commitWaiting(): void {
    if (this.#hasWork) this.#committing ??= this.#commitAll();
  }

  /** A hold of writes does not delay the removal of expired records. */
  get #hasWork(): boolean {
    return !this.#isPaused && (this.#expiring !== undefined || (!this.writeHold.isHeld && this.#queue.isReady()));
  }

  get #isDue(): boolean {
    return this.parts.state.expiries.isDue(this.parts.context.clock.nowMs());
  }

  async #commitAll(): Promise<void> {
    // Writes of one message go into one frame.
    await Promise.resolve();
    while (this.#hasWork) {
      const taken = this.writeHold.isHeld ? [] : this.#queue.take(this.parts.journal.eventBytesMax);
      const expiring = this.#expiring;
      this.#expiring = undefined;
      try {
        while (this.#isDue) await this.#removeExpired();
        expiring?.resolve();
        if (taken.length > 0) await this.#commit(taken);
      } catch (error) {
        const shown = this.toCallerError(error);
        expiring?.reject(shown);
        for (const { reject } of taken) reject(shown);
      }
      this.#queue.committed();
      this.parts.capacity.release();
      this.onCommit();
    }
    this.#committing = undefined;
  }

  async #removeExpired(): Promise<void> {
    await commitRemovals(this.parts);
    await this.#ensureNoted();
  }

  async #commit(taken: readonly Waiting[]): Promise<void> {
    const { journal, context } = this.parts;
    await journal.settle();
    const { plan, planned, refused } = await this.#plan(taken);
    const receipts: Receipts = new Map();
    if (plan.events.length > 0) {
      const singles = new Set<number>();
      for (const { answer } of planned) if (answer.kind === 'insert') singles.add(answer.write.sequence);
      const deadlineMs = Math.max(...planned.map(({ waiting }) => waiting.envelope.deadlineMs));
      const onDurable = startCommit(context.metrics, plan.events.length);
      await journal.commit(plan, deadlineMs, onDurable, (sequence, makeReceipt) => {
        if (singles.has(sequence)) receipts.set(sequence, makeReceipt());
      });
      context.storeGuard.writeStored();
    }
    await this.#ensureNoted();
    for (const { waiting, error } of refused) waiting.reject(error);
    for (const { waiting, answer } of planned) {
      const result = committedResult(this.parts.state, answer, receipts);
      if (result !== undefined) {
        waiting.resolve(result);
        continue;
      }
      // Do not await it: the receipt of a repeated write may be slow, and the next commit does not depend on it.
      const answering = resultOf(this.parts, answer, waiting.envelope)
        .then(waiting.resolve, (error: unknown) => waiting.reject(this.toCallerError(error)))
        .then(() => void this.#answering.delete(answering));
      this.#answering.add(answering);
    }
  }

  /**
   * Ensures the notes of the log before any write is answered. Without a watermark a loss of the log would go unnoticed, and
   * without the next expiry no process would open the collection then.
   */
  async #ensureNoted(): Promise<void> {
    const { journal, watermark, context, config, state } = this.parts;
    if (journal.sequence === 0) return;
    await watermark.ensureNoted();
    await context.removals.ensureNoted(config.id, state.expiries.nextMs);
  }

  /** Plans a commit. `refused` depend on earlier writes of this commit; they are rejected once those are durable. */
  async #plan(
    taken: readonly Waiting[],
  ): Promise<{ readonly plan: CommitBuilder; readonly planned: Planned[]; readonly refused: Refused[] }> {
    const { config, state, capacity, context, vault } = this.parts;
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
    const plan = new CommitBuilder(state, { ...room, cipher: vault.cipher }, context.limits);
    const planned: Planned[] = [];
    const refused: Refused[] = [];
    for (const waiting of taken) {
      try {
        if (context.clock.nowMs() > waiting.envelope.deadlineMs)
          throw unavailable('the deadline passed before the commit');
        const { call, envelope } = waiting;
        plan.as(envelope.actor ?? SYSTEM);
        planned.push({ waiting, answer: await planWrite(this.parts, plan, call) });
      } catch (error) {
        if (plan.events.length === 0) waiting.reject(error);
        else refused.push({ waiting, error });
      }
    }
    return { plan, planned, refused };
  }
}

const requestIdsOf = (call: InsertCall | InsertBatchCall): readonly (Uint8Array | null)[] =>
  call.op === 'insert' ? [call.requestId] : (call.requestIds ?? []);
