/** The proofs of a collection: of its state, of past writes, and of its log. */

import type { Clock } from '../../shared/clock.js';
import { unavailable, unreachable, VouchError } from '../../shared/errors/errors.js';
import { EMPTY_HASH, toHex } from '../../shared/hashing/hash.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import type { Event } from '../../shared/log/event.js';
import { namedActor } from '../../shared/model/actor.js';
import type { PastReceipt, Receipt } from '../../shared/model/receipt.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { LogHead, ProofCall, ProofResults } from '../../shared/protocol/proofs.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import type { Signer } from '../../shared/signing/signer.js';
import { moved } from '../../shared/transport/transportErrors.js';
import { emptyHashes } from '../state/replay.js';
import type { ReplayedCollection } from '../state/replayedCollection.js';
import { recordOf } from '../state/writeReceipt.js';
import { checkpointText } from './checkpoint.js';
import { timelinePage } from './timeline.js';

/**
 * Version of the bytes of proofs about the log.
 *
 *   Inclusion    u8 version | chain head after the event (32) | siblings (32 each), bottom first.
 *   Consistency  u8 version | nodes (32 each) of `LogTree.consistency`.
 */
const PROOF_VERSION = Uint8Array.of(1);

export class CollectionProofs {
  /** Receipts of past writes are made one at a time: each takes slices of the event loop, and they add up. */
  readonly #receipts = new Mutex();
  /** Whether the collection is about to be closed. */
  #isClosing = false;

  constructor(
    private readonly collection: ReplayedCollection,
    private readonly signer: Signer,
    private readonly clock: Clock,
  ) {}

  /** Answers a call. Throws `validation_error` if the log lacks the requested event, `unavailable`, and Damaged. */
  async answer(call: ProofCall, deadlineMs: number): Promise<Results[ProofCall['op']]> {
    switch (call.op) {
      case 'proofState':
        return this.stateProof();
      case 'proofReceipt':
        return this.#pastReceipt(call.sequence, deadlineMs);
      case 'proofInclusion':
        return this.#inclusion(call.sequence, call.size);
      case 'proofConsistency':
        return this.#consistency(call.from, call.to);
      case 'checkpoint':
        return this.checkpoint();
      case 'timeline':
        return timelinePage(this.collection.journal, call, () => this.#assertInTime(deadlineMs));
      default:
        return unreachable(call);
    }
  }

  /** Ends long proofs, since the collection is about to be closed. */
  cancelBackgroundWork(): void {
    this.#isClosing = true;
  }

  /** Makes the receipt of the write that committed event `sequence`, at any time in the past. */
  async receipt(sequence: number, deadlineMs: number): Promise<Receipt> {
    const { request_id: _, actor: __, ...receipt } = await this.#pastReceipt(sequence, deadlineMs);
    return receipt;
  }

  async #pastReceipt(sequence: number, deadlineMs: number): Promise<PastReceipt> {
    this.#assertInLog(sequence);
    const assertInTime = (): void => this.#assertInTime(deadlineMs);
    return this.#receipts.run(async () => {
      assertInTime();
      // Read the frame only now, so that waiting calls keep no frame in memory.
      const frame = await this.collection.journal.frameWith(sequence);
      const event = frame.events[sequence - frame.header.firstSequence] as Event;
      if (recordOf(event) === undefined) throw changedNoRecord(event);
      assertInTime();
      const receipt = await this.collection.journal.receiptOf(sequence, frame, assertInTime);
      const requestId = 'requestId' in event ? event.requestId : null;
      return {
        ...receipt,
        ...(requestId === null ? {} : { request_id: toHex(requestId) }),
        ...(event.actor === null ? {} : { actor: namedActor(event.actor) }),
      };
    });
  }

  /** Proves the state after the last whole frame. */
  async stateProof(): Promise<ProofResults['proofState']> {
    await this.collection.journal.whole();
    const { stateHash, chainHead } = this.#now();
    return { stateHash, chainHead, stateRoot: this.collection.state.tree.root(), log: this.#head(this.#size) };
  }

  #inclusion(sequence: number, wantedSize: number | null): ProofResults['proofInclusion'] {
    this.#assertInLog(sequence);
    const size = wantedSize ?? this.#size;
    if (size <= sequence || size > this.#size)
      throw invalid(
        `size is ${size}; a log with event ${sequence} in it has ${sequence + 1} to ${this.#size} events, the genesis included`,
      );
    return { sequence, log: this.#head(size), proof: this.inclusionPath(sequence, size) };
  }

  /** Proves that event `sequence` is in the log of its first `size` events. */
  inclusionPath(sequence: number, size: number): Uint8Array {
    const { tree } = this.collection.journal.history;
    return Buffer.concat([PROOF_VERSION, tree.chainHead(sequence), tree.path(sequence, size)]);
  }

  #consistency(from: number, to: number): ProofResults['proofConsistency'] {
    if (from > to) throw invalid(`from is ${from} and to is ${to}; the earlier of the two comes first`);
    this.#assertNotBeyond(to);
    // An empty log has no genesis either.
    const [earlier, later] = [from, to].map((sequence) => Math.min(sequence + 1, this.#size)) as [number, number];
    const nodes = this.collection.journal.history.tree.consistency(earlier, later);
    const proof = Buffer.concat([PROOF_VERSION, nodes]);
    return { from: this.#head(earlier), to: this.#head(later), proof };
  }

  /** Signs the present log, of `size` events. */
  async checkpoint(): Promise<ProofResults['checkpoint'] & { readonly size: number }> {
    await this.collection.journal.whole();
    const { configHash, stateHash, chainHead } = this.#now();
    const size = this.#size;
    const text = checkpointText({
      collection: this.collection.config,
      configHash,
      log: this.#head(size),
      chainHead: size === 0 ? EMPTY_HASH : chainHead,
      stateHash,
      timeMs: this.clock.nowMs(),
    });
    return { text, signature: this.signer.sign(text), publicKey: this.signer.publicKey, size };
  }

  /** Number of events in whole frames, with the genesis. */
  get #size(): number {
    return this.collection.journal.history.end.nextSequence;
  }

  #head(size: number): LogHead {
    return { sequence: Math.max(size - 1, 0), size, root: this.collection.journal.history.tree.root(size) };
  }

  /** Returns the present hashes, between two frames. An empty log gets those after the genesis that will be written. */
  #now(): ReturnType<typeof emptyHashes> {
    const { configHash, end } = this.collection.journal.history;
    if (end === EMPTY_LOG) return emptyHashes(this.collection.config, this.collection.state);
    return { configHash, stateHash: this.collection.journal.stateHash(), chainHead: end.chainHead };
  }

  #assertInLog(sequence: number): void {
    if (this.#size === 0) throw invalid(`there is no event ${sequence}: nothing was written to the collection yet`);
    this.#assertNotBeyond(sequence);
  }

  #assertNotBeyond(sequence: number): void {
    const { sequence: last } = this.collection.journal;
    if (sequence > last) throw invalid(`there is no event ${sequence}: the collection's log has ${last}`);
  }

  #assertInTime(deadlineMs: number): void {
    if (this.#isClosing) throw moved();
    if (this.clock.nowMs() > deadlineMs) throw unavailable('the deadline passed during the making of a proof');
  }
}

const invalid = (message: string): VouchError => new VouchError('validation_error', message);

const changedNoRecord = ({ sequence, type }: Event): VouchError =>
  invalid(
    `event ${sequence} is ${ABOUT[type] ?? type} and changed no record, so there is no receipt of it; /v1/proof/inclusion shows that it is in the log`,
  );

const ABOUT: Partial<Record<Event['type'], string>> = {
  genesis: 'the genesis, which states what collection this is,',
  deleteMany: 'the end of the deletions of a request',
  shredKey: 'a shredded key',
  addNode: 'a new graph node',
  deleteNode: 'a deleted graph node',
  addEdge: 'a new graph edge',
  deleteEdge: 'a deleted graph edge',
  auditReads: 'a change of audit_reads',
};
