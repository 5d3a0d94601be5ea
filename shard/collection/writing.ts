/**
 * The writes of a collection, for one term of its shard's ownership: they wait, are committed together, and are answered.
 *
 *   open ──pause──▶ paused (what comes waits) ──resume──▶ open
 *     └────────end────────┴──▶ over (what waits, and what still comes, is refused)
 *
 * What is under way when a term ends is finished, and answered as what it became.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { InsertEncryptedCall, Results, WriteCall } from '../../shared/calls.js';
import { unavailable, unreachable, type VouchError } from '../../shared/errors.js';
import type { Envelope } from '../../shared/transport/transport.js';
import type { CollectionVault } from '../encrypted/collectionVault.js';
import type { SealedCall } from '../encrypted/sealedCall.js';
import { cutShort, moved } from '../moving.js';
import type { CollectionProofs } from '../proof/collectionProofs.js';
import type { CollectionContext } from './collectionContext.js';
import type { CollectionState } from './collectionState.js';
import type { CommitRoom } from './commitRoom.js';
import { type Answer, FramePlan } from './framePlan.js';
import type { Journal } from './journal.js';
import type { LogImport } from './logImport.js';
import type { Reach } from './reach.js';
import { bytesOf } from './resultBytes.js';
import { WriteHold } from './writeHold.js';
import { type Waiting, WriteQueue } from './writeQueue.js';

/** Receipts of repeated writes may take a while each, and are made one at a time. */
const ANSWERING_MAX = 4_096;

type Receipts = Map<number, Results['insert']['receipt']>;

export interface WritingParts {
  readonly state: CollectionState;
  readonly journal: Journal;
  readonly reach: Reach;
  readonly vault: CollectionVault;
  readonly proofs: CollectionProofs;
  readonly room: CommitRoom;
  readonly imports: LogImport;
  readonly context: Pick<CollectionContext, 'admission' | 'clock' | 'metrics'>;
  /** After every commit, however it ended. */
  readonly onCommit: () => void;
  /** What a caller is told of a failure. */
  readonly shown: (error: unknown) => unknown;
}

export class Writing {
  readonly #queue: WriteQueue;
  readonly #hold: WriteHold;
  #committing: Promise<void> | undefined;
  /** Writes that are committed, or repeat one that is, and whose answer is still being made. */
  readonly #answering = new Set<Promise<void>>();
  #isPaused = false;
  /** Why no write is taken any more. */
  #refusal: VouchError | undefined;
  #cut: (() => void) | undefined;
  /** Resolves when the term is over. */
  readonly #isCut: Promise<void>;

  constructor(private readonly parts: WritingParts) {
    this.#queue = new WriteQueue(parts.context.clock, parts.context.admission);
    this.#hold = new WriteHold(parts.context.clock, () => this.#commitWaiting());
    this.#isCut = new Promise((resolve) => {
      this.#cut = resolve;
    });
  }

  async write(call: WriteCall, envelope: Envelope): Promise<unknown> {
    if (this.#refusal !== undefined) throw this.#refusal;
    return call.op === 'insertEncrypted' ? this.#insertEncrypted(call, envelope) : this.#enqueue(call, envelope);
  }

  /** Takes no write until `release`: resolves when none is under way. */
  async hold(token: string, holdMs: number): Promise<void> {
    this.#hold.take(token, holdMs);
    await this.#committing;
  }

  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  release(token: string): void {
    this.#hold.release(token);
  }

  /** Between two commits: an import waits for the one under way, and the next for the import. */
  async importFrames(
    frames: readonly Uint8Array[],
    upTo: number,
    envelope: Envelope,
  ): Promise<Results['importFrames']> {
    while (this.#committing !== undefined) await this.#committing;
    this.#assertImporting();
    const { imports, onCommit } = this.parts;
    const importing = this.#showing(async () => {
      const added = await imports.add(frames, upTo, envelope.deadlineMs, () => this.#assertImporting());
      // What an import was told to be there is not left to a later note.
      await this.parts.reach.note();
      return added;
    });
    const next = (): void => {
      this.#committing = undefined;
      onCommit();
      this.#commitWaiting();
    };
    this.#committing = importing.then(next, next);
    return importing;
  }

  /** As `work`, or `refusal` as soon as the term is over: it may have had an effect by then. */
  unlessOver<T>(work: Promise<T>, refusal: () => VouchError = cutShort): Promise<T> {
    const over = this.#isCut.then((): never => {
      throw refusal();
    });
    return Promise.race([work, over]);
  }

  /** False where the commit under way did not end in time. Either way nothing new is begun until `resume`. */
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

  /** For good. */
  end(refusal: VouchError): void {
    this.refuse(refusal);
    this.#cut?.();
    this.#hold.over();
  }

  /** Of damage, what is being built or held goes on. */
  refuse(refusal: VouchError): void {
    this.#refusal = refusal;
    this.#queue.rejectAll(refusal);
  }

  /** What would keep `idle` waiting ends. */
  hurry(): void {
    this.#hold.over();
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    while (this.#committing !== undefined) await this.#committing;
  }

  /** Resolves when all that was committed is answered. */
  async answered(): Promise<void> {
    await Promise.all(this.#answering);
  }

  async #insertEncrypted(call: InsertEncryptedCall, envelope: Envelope): Promise<unknown> {
    const { vault } = this.parts;
    const sealed = await this.#showing(
      async () => (await vault.replay(call.requestId)) ?? (await vault.seal(call, envelope.deadlineMs)),
    ).catch((error: unknown) => {
      // What the vault refuses, it refuses by a state that may not be the collection's any more.
      throw this.#refusal ?? error;
    });
    if ('op' in sealed) return this.#enqueue(sealed, envelope);
    await this.#tellReached();
    return sealed;
  }

  async #enqueue(call: SealedCall, envelope: Envelope): Promise<unknown> {
    // Sealing takes a while, and the term may have ended meanwhile.
    if (this.#refusal !== undefined) throw this.#refusal;
    const { admission, metrics } = this.parts.context;
    if (this.#answering.size >= ANSWERING_MAX) throw admission.refusal('receipts');
    const answer = this.#queue.add(call, envelope, this.#isKept);
    metrics.waiting(1);
    this.#commitWaiting();
    return answer.finally(() => metrics.waiting(-1));
  }

  async #showing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw this.parts.shown(error);
    }
  }

  get #isKept(): boolean {
    return this.#isPaused || this.#hold.isHeld;
  }

  /** What is stored already would be passed over by whoever is asked next. */
  #assertImporting(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (this.#isPaused) throw moved();
  }

  #commitWaiting(): void {
    if (!this.#isKept) this.#committing ??= this.#commitAll();
  }

  async #commitAll(): Promise<void> {
    // What arrives in the same message as the first write goes into the same frame.
    await Promise.resolve();
    while (!this.#queue.isEmpty && !this.#isKept) {
      const taken = this.#queue.take(this.parts.journal.eventBytesMax);
      try {
        await this.#commit(taken);
      } catch (error) {
        const shown = this.parts.shown(error);
        for (const { reject } of taken) reject(shown);
      }
      this.#queue.committed();
      this.parts.room.settle();
      this.parts.onCommit();
    }
    this.#committing = undefined;
  }

  async #commit(taken: readonly Waiting[]): Promise<void> {
    const { journal, context } = this.parts;
    await journal.settle();
    const { plan, planned } = await this.#plan(taken);
    const receipts: Receipts = new Map();
    if (plan.events.length > 0) {
      const singles = new Set(
        planned.flatMap(({ answer }) => (answer.kind === 'insert' ? [answer.write.sequence] : [])),
      );
      const deadlineMs = Math.max(...planned.map(({ waiting }) => waiting.envelope.deadlineMs));
      const onDurable = context.metrics.startCommit(plan.events.length);
      await journal.commit(plan.events, plan.liveRecords, deadlineMs, onDurable, (sequence, makeReceipt) => {
        if (singles.has(sequence)) receipts.set(sequence, makeReceipt());
      });
    }
    await this.#tellReached();
    for (const { waiting, answer } of planned) {
      // Not waited for: the receipt of a replay may take a while, and the next commit need not.
      const answering = this.#result(answer, receipts, waiting.envelope)
        .then(waiting.resolve, (error: unknown) => waiting.reject(this.parts.shown(error)))
        .finally(() => this.#answering.delete(answering));
      this.#answering.add(answering);
    }
  }

  /** Nothing is answered of a log whose loss nobody would notice. */
  async #tellReached(): Promise<void> {
    const { journal, reach } = this.parts;
    if (journal.sequence > 0) await reach.tell();
  }

  async #plan(
    taken: readonly Waiting[],
  ): Promise<{ plan: FramePlan; planned: { waiting: Waiting; answer: Answer }[] }> {
    const { state, room, context } = this.parts;
    const records = taken.reduce((sum, waiting) => sum + waiting.records, 0);
    const vectors = taken.reduce((sum, { call, records }) => sum + (call.op === 'insertEncrypted' ? 0 : records), 0);
    const plan = new FramePlan(state, await room.take(records, vectors));
    const planned: { waiting: Waiting; answer: Answer }[] = [];
    for (const waiting of taken) {
      try {
        if (context.clock.nowMs() > waiting.envelope.deadlineMs)
          throw unavailable('the deadline passed before the commit');
        planned.push({ waiting, answer: plan.add(waiting.call) });
      } catch (error) {
        waiting.reject(error);
      }
    }
    return { plan, planned };
  }

  async #result(answer: Answer, receipts: Receipts, { deadlineMs }: Envelope): Promise<Results[WriteCall['op']]> {
    const { proofs, vault } = this.parts;
    switch (answer.kind) {
      case 'insert': {
        const { recordId, sequence } = answer.write;
        // The write a replay repeats may lie far back: its receipt is made again from the log and the tree's history.
        const receipt = receipts.get(sequence) ?? (await proofs.receipt(sequence, deadlineMs));
        return { id: recordId, deduplicated: answer.deduplicated, receipt };
      }
      case 'encrypted': {
        const { keyId, write } = answer;
        return keyId === null ? vault.replayOf(write) : { id: write.recordId, keyId };
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
