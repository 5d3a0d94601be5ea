/** What a collection proves of itself: of its state, of past writes, and of its log. */
import type { CollectionConfig, Receipt, Results } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable, unreachable, VouchError } from '../../shared/errors.js';
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hash.js';
import { EMPTY_LOG, nextChainHead } from '../../shared/log/chain.js';
import { type Event, genesisOf } from '../../shared/log/event.js';
import { encodeEvent } from '../../shared/log/eventWriter.js';
import type { LogHead, ProofCall, ProofResults } from '../../shared/proofs.js';
import { Turns } from '../../shared/turns.js';
import type { CollectionState } from '../collection/collectionState.js';
import type { Journal } from '../collection/journal.js';
import { moved } from '../moving.js';
import { checkpointText } from './checkpoint.js';
import { consistencyProof, inclusionProof } from './proofBytes.js';
import type { Signer } from './signer.js';
import { timelinePage } from './timeline.js';
import { recordOf } from './writeReceipt.js';

interface StateNow {
  readonly configHash: Uint8Array;
  readonly stateHash: Uint8Array;
  readonly chainHead: Uint8Array;
}

export class CollectionProofs {
  /** Receipts of far back are made one at a time: each takes slices of the event loop, and they add up. */
  readonly #making = new Turns();
  /** Nothing that may take long goes on. */
  #hurried = false;

  constructor(
    private readonly config: CollectionConfig,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly signer: Signer,
    private readonly clock: Clock,
  ) {}

  /** Throws `validation_error` where the log has not what is asked for, `unavailable`, and Damaged. */
  async answer(call: ProofCall, deadlineMs: number): Promise<Results[ProofCall['op']]> {
    switch (call.op) {
      case 'proofState':
        return this.stateProof();
      case 'proofReceipt':
        return this.receipt(call.sequence, deadlineMs);
      case 'proofInclusion':
        return this.#inclusion(call.sequence, call.size);
      case 'proofConsistency':
        return this.#consistency(call.from, call.to);
      case 'checkpoint':
        return this.#checkpoint();
      case 'timeline':
        return timelinePage(this.journal, call, () => this.#assertInTime(deadlineMs));
      default:
        return unreachable(call);
    }
  }

  /** What takes long ends: the collection is about to be closed. */
  hurry(): void {
    this.#hurried = true;
  }

  /** Of the write that committed event `sequence`, however long ago. */
  async receipt(sequence: number, deadlineMs: number): Promise<Receipt> {
    this.#assertInLog(sequence);
    const assertInTime = (): void => this.#assertInTime(deadlineMs);
    return this.#making.take(async () => {
      assertInTime();
      // Only now: who waits holds no frame.
      const frame = await this.journal.frameWith(sequence);
      const event = frame.events[sequence - frame.header.firstSequence] as Event;
      if (recordOf(event) === undefined) throw changedNoRecord(event);
      assertInTime();
      return this.journal.receiptOf(sequence, frame, assertInTime);
    });
  }

  /** What the whole frames of the log have made of the collection. */
  async stateProof(): Promise<ProofResults['proofState']> {
    await this.journal.whole();
    const { stateHash, chainHead } = this.#now();
    return { stateHash, chainHead, stateRoot: this.state.tree.root(), log: this.#head(this.#size) };
  }

  #inclusion(sequence: number, wantedSize: number | null): ProofResults['proofInclusion'] {
    this.#assertInLog(sequence);
    const size = wantedSize ?? this.#size;
    if (size <= sequence || size > this.#size)
      throw invalid(
        `size is ${size}; a log with event ${sequence} in it has ${sequence + 1} to ${this.#size} events, the genesis included`,
      );
    const { tree } = this.journal.history;
    const proof = inclusionProof(tree.chainHead(sequence), tree.path(sequence, size));
    return { sequence, log: this.#head(size), proof };
  }

  #consistency(from: number, to: number): ProofResults['proofConsistency'] {
    if (from > to) throw invalid(`from is ${from} and to is ${to}; the earlier of the two comes first`);
    this.#assertNotBeyond(to);
    // Before the first write there is no genesis either.
    const [earlier, later] = [from, to].map((sequence) => Math.min(sequence + 1, this.#size)) as [number, number];
    const proof = consistencyProof(this.journal.history.tree.consistency(earlier, later));
    return { from: this.#head(earlier), to: this.#head(later), proof };
  }

  async #checkpoint(): Promise<ProofResults['checkpoint']> {
    await this.journal.whole();
    const { configHash, stateHash, chainHead } = this.#now();
    const size = this.#size;
    const text = checkpointText({
      collection: this.config,
      configHash,
      log: this.#head(size),
      chainHead: size === 0 ? EMPTY_HASH : chainHead,
      stateHash,
      timeMs: this.clock.nowMs(),
    });
    return { text, signature: this.signer.sign(text), publicKey: this.signer.publicKey };
  }

  /** Events of whole frames, the genesis included. */
  get #size(): number {
    return this.journal.history.end.nextSequence;
  }

  #head(size: number): LogHead {
    return { sequence: Math.max(size - 1, 0), size, root: this.journal.history.tree.root(size) };
  }

  /** No part of a frame is applied. The state before the first write is the one after the genesis that will be written. */
  #now(): StateNow {
    const { configHash, end } = this.journal.history;
    if (end !== EMPTY_LOG) return { configHash, stateHash: this.journal.stateHash(), chainHead: end.chainHead };
    const genesis = genesisOf(this.config);
    const willBe = hash(Uint8Array.of(DOMAIN.logLeaf, ...encodeEvent(genesis)));
    const chainHead = nextChainHead(EMPTY_HASH, willBe);
    const stateHash = this.state.hash({ configHash: willBe, chainHead, sequence: 0, timeMs: genesis.timeMs });
    return { configHash: willBe, stateHash, chainHead };
  }

  #assertInLog(sequence: number): void {
    if (this.#size === 0) throw invalid(`there is no event ${sequence}: nothing was written to the collection yet`);
    this.#assertNotBeyond(sequence);
  }

  #assertNotBeyond(sequence: number): void {
    const { sequence: last } = this.journal;
    if (sequence > last) throw invalid(`there is no event ${sequence}: the collection's log has ${last}`);
  }

  #assertInTime(deadlineMs: number): void {
    if (this.#hurried) throw moved();
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
  shredKey: 'a shredded key',
  addNode: 'a new graph node',
  deleteNode: 'a deleted graph node',
  addEdge: 'a new graph edge',
  deleteEdge: 'a deleted graph edge',
};
