/**
 * A frame of an export on its way into this log. It is judged before it is stored, since what is stored can only be applied
 * or be damage: first its bytes and its place in the chain, then its events, by planning the writes that they state. A
 * frame is taken only where those writes, made here, would have led to the same events.
 */
import type { CollectionConfig, Results } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable, unreachable, VouchError } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import type { Event } from '../../shared/log/event.js';
import { claimedStart, type Frame, readFrameHeader } from '../../shared/log/frame.js';
import { verifyFrame } from '../../shared/log/frameVerifier.js';
import { Malformed } from '../../shared/malformed.js';
import type { CollectionVault } from '../encrypted/collectionVault.js';
import type { SealedCall } from '../encrypted/sealedCall.js';
import type { ShardMetrics } from '../metrics.js';
import { nextTurn, Slice } from '../pause.js';
import type { CollectionProofs } from '../proof/collectionProofs.js';
import type { CollectionState } from './collectionState.js';
import type { CommitRoom } from './commitRoom.js';
import { Damaged } from './damaged.js';
import { FramePlan } from './framePlan.js';
import type { Journal } from './journal.js';
import { configHashIn } from './replay.js';

export class LogImport {
  constructor(
    private readonly config: CollectionConfig,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly room: CommitRoom,
    private readonly proofs: CollectionProofs,
    private readonly vault: CollectionVault,
    private readonly context: { readonly clock: Clock; readonly metrics: ShardMetrics },
  ) {}

  /**
   * Stores and applies the frames one by one, and passes over those that are there, once verified. No commit may be under way. Throws
   * `validation_error` where a frame is not the next of this log or goes beyond `upTo`, `capacity_exceeded`, `unavailable`,
   * and Damaged. The frames before it stay; of it nothing is stored, but for an outcome that is not known. `beforeEach` may
   * end it between two frames by throwing.
   */
  async add(
    frames: readonly Uint8Array[],
    upTo: number,
    deadlineMs: number,
    beforeEach: () => void,
  ): Promise<Results['importFrames']> {
    const { journal, proofs, context } = this;
    try {
      await journal.settle();
      for (const bytes of frames) {
        beforeEach();
        if (context.clock.nowMs() > deadlineMs) throw unavailable('the deadline passed before all frames were stored');
        const frame = await refusing(() => this.#verified(bytes, upTo));
        if (frame === undefined) continue;
        await this.#assertPlanned(frame);
        await this.vault.enter(frame.events, deadlineMs);
        await journal.adopt(frame, deadlineMs, context.metrics.startCommit(frame.events.length));
      }
    } finally {
      this.room.settle();
    }
    const { stateHash } = await proofs.stateProof();
    return {
      sequence: journal.sequence,
      chainHead: toHex(journal.history.end.chainHead),
      stateHash: toHex(stateHash),
    };
  }

  /** Undefined where it is there. */
  async #verified(bytes: Uint8Array, upTo: number): Promise<Frame | undefined> {
    const { end, tree } = this.journal.history;
    const { firstSequence, events } = readFrameHeader(bytes);
    if (firstSequence + events <= end.nextSequence) {
      const { end: frameEnd } = await verifyFrame(bytes, claimedStart(bytes), nextTurn);
      if (Buffer.compare(frameEnd.chainHead, tree.chainHead(frameEnd.nextSequence - 1)) !== 0)
        throw refused(`its events up to ${frameEnd.nextSequence - 1} are others than those that are here`);
      return undefined;
    }
    if (firstSequence + events > upTo + 1) throw refused(`it goes beyond event ${upTo}, the last that was announced`);
    const frame = await verifyFrame(bytes, end, nextTurn);
    if (end === EMPTY_LOG) configHashIn(frame, this.config);
    return frame;
  }

  async #assertPlanned({ events, header }: Frame): Promise<void> {
    const vectors = events.filter(({ type }) => type === 'insert').length;
    const sealed = events.filter(({ type }) => type === 'insertEncrypted').length;
    const plan = new FramePlan(this.state, await this.room.take(vectors + sealed, vectors));
    const slice = new Slice(this.context.clock);
    for (const event of events) {
      if (event.type === 'genesis') continue;
      const planned = plan.events.length;
      planning(event, () => plan.add(callOf(event)));
      if (!isSame(plan.events[planned], event)) throw refused(`event ${event.sequence} cannot follow those before it`);
      if (slice.due) await slice.next();
    }
    if (plan.liveRecords !== header.liveRecords)
      throw refused(`it says ${header.liveRecords} live records where there are ${plan.liveRecords}`);
  }
}

/** What does not verify here was sent so: nothing of this service is damaged by it. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Malformed || error instanceof Damaged) throw refused(error.message);
    throw error;
  }
}

const refused = (reason: string): VouchError =>
  new VouchError('validation_error', `a frame of the import is refused: ${reason}`);

function planning(event: Event, add: () => void): void {
  try {
    add();
  } catch (error) {
    if (!(error instanceof VouchError) || error.code === 'capacity_exceeded' || error.code === 'unavailable')
      throw error;
    throw refused(`event ${event.sequence}: ${error.message}`);
  }
}

/** Which records, nodes and edges are new follows from the state; all else is in the event as the write had it. */
function isSame(planned: Event | undefined, event: Event): boolean {
  switch (event.type) {
    case 'insert':
    case 'insertEncrypted':
      return planned?.type === event.type && planned.recordId === event.recordId;
    case 'addNode':
      return planned?.type === 'addNode' && planned.nodeId === event.nodeId;
    case 'addEdge':
      return planned?.type === 'addEdge' && planned.edgeId === event.edgeId;
    default:
      return planned?.type === event.type;
  }
}

/** The write that an event states. Without request ids: how many are remembered is each node's own affair. */
function callOf(event: Exclude<Event, { type: 'genesis' }>): SealedCall {
  switch (event.type) {
    case 'insert': {
      const { vector, tag, metadata, text } = event;
      return { op: 'insert', vector, tag, requestId: null, metadata, text: text && textOf(text) };
    }
    case 'insertEncrypted': {
      const { keyId, nonce, ciphertext, tag } = event;
      return { op: 'insertEncrypted', keyId: toHex(keyId), nonce, ciphertext, tag, requestId: null };
    }
    case 'shredKey':
      return { op: 'shredKey', keyId: toHex(event.keyId) };
    case 'softDelete':
    case 'delete':
      return { op: event.type, id: event.recordId };
    case 'updateMetadata':
      return { op: 'updateMetadata', id: event.recordId, metadata: event.metadata };
    case 'addNode':
      return { op: 'addNode', kind: event.kind, recordId: event.recordId };
    case 'deleteNode':
      return { op: 'deleteNode', id: event.nodeId };
    case 'addEdge':
      return { op: 'addEdge', from: event.from, to: event.to, kind: event.kind };
    case 'deleteEdge':
      return { op: 'deleteEdge', id: event.edgeId };
    default:
      return unreachable(event);
  }
}

const textOf = (text: Uint8Array): string => Buffer.from(text.buffer, text.byteOffset, text.length).toString();
