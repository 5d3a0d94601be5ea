/**
 * The import of exported frames into this log. A frame is judged before it is stored, since a stored frame that cannot
 * be applied is damage. First its bytes and its place in the chain are checked, then its events. It is accepted only if
 * the writes that its events state would lead to equal events here.
 */

import { unavailable, unreachable, VouchError } from '../../shared/errors/errors.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { toHex } from '../../shared/hashing/hash.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { Event } from '../../shared/log/event.js';
import { claimedStart, type Frame, readFrameHeader, verifyFrame } from '../../shared/log/frame.js';
import { actorBesideBytes } from '../../shared/log/frameActors.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { Actor } from '../../shared/model/actor.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { READ_AUDITS } from '../../shared/model/readAudit.js';
import type { Results } from '../../shared/protocol/calls.js';
import { Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import type { CollectionProofs } from '../proof/collectionProofs.js';
import type { CollectionState } from '../state/collectionState.js';
import { CommitBuilder } from '../state/commitBuilder.js';
import { addedBytes } from '../state/growth.js';
import type { Journal } from '../state/journal.js';
import type { PlannedCall } from '../state/plannedCalls.js';
import { isStated, planStated, type StatedEvent } from '../state/planStated.js';
import { configHashIn } from '../state/replay.js';
import type { CollectionVault } from '../vault/collectionVault.js';
import type { CapacityReservation } from './capacityReservation.js';
import type { CollectionContext } from './collectionContext.js';
import type { CollectionWatermark } from './watermark.js';

/** Parts of an open collection. */
export interface CollectionParts {
  readonly config: CollectionConfig;
  readonly context: CollectionContext;
  readonly state: CollectionState;
  readonly journal: Journal;
  readonly watermark: CollectionWatermark;
  readonly capacity: CapacityReservation;
  readonly proofs: CollectionProofs;
  readonly vault: CollectionVault;
  /** Resolves when no past state in memory has content that is erased. */
  readonly erased: () => Promise<void>;
}

/** Some frames of an import. */
interface FramesToImport {
  readonly frames: readonly Uint8Array[];
  /** Sequence of the last event that the import may have. */
  readonly upTo: number;
  readonly deadlineMs: number;
}

/**
 * Stores and applies the frames one by one, and skips stored ones once they are verified. No commit may run. Throws
 * `validation_error` if a frame is not the next of this log or goes beyond `upTo`, `capacity_exceeded`, `unavailable`,
 * and Damaged. Earlier frames stay stored. It calls `beforeEach` between two frames, which may throw to end it.
 */
export async function importFrames(
  parts: CollectionParts,
  { frames, upTo, deadlineMs }: FramesToImport,
  beforeEach: () => void,
): Promise<Results['importFrames']> {
  const { journal, vault, context } = parts;
  try {
    await journal.settle();
    for (const bytes of frames) {
      beforeEach();
      if (context.clock.nowMs() > deadlineMs) throw unavailable('the deadline passed before all frames were stored');
      const frame = await refusing(() => verified(parts, bytes, upTo));
      if (frame === undefined) continue;
      await vault.enter(frame.events, deadlineMs);
      const opened = await refusing(() => vault.openContents(frame.events));
      try {
        await assertPlanned(parts, frame);
        await journal.adopt(frame, deadlineMs, startCommit(context.metrics, frame.events.length));
      } finally {
        opened.forget();
      }
    }
  } finally {
    parts.capacity.release();
  }
  const { stateHash } = await parts.proofs.stateProof();
  const { readAudit: audit, accessRetentionDays: retentionDays } = parts.state;
  const chainHead = toHex(journal.history.end.chainHead);
  return { sequence: journal.sequence, chainHead, stateHash: toHex(stateHash), access: { audit, retentionDays } };
}

/** Starts to measure a commit. Call the returned function when the log has made the frame durable. */
export function startCommit(metrics: Metrics, events: number): (frameBytes: number) => void {
  const durable = metrics.startTimer('vouch_commit_seconds');
  return (frameBytes) => {
    durable();
    metrics.count('vouch_committed_events_total', events);
    metrics.count('vouch_committed_bytes_total', frameBytes);
  };
}

/** Verifies a frame. Returns undefined if it is already stored. */
async function verified(
  { config, journal }: CollectionParts,
  bytes: Uint8Array,
  upTo: number,
): Promise<Frame | undefined> {
  const { end, tree } = journal.history;
  const { firstSequence, events } = readFrameHeader(bytes);
  if (firstSequence + events <= end.nextSequence) {
    const { end: frameEnd } = await verifyFrame(bytes, claimedStart(bytes), sliceTurns());
    if (Buffer.compare(frameEnd.chainHead, tree.chainHead(frameEnd.nextSequence - 1)) !== 0)
      throw refused(`its events up to ${frameEnd.nextSequence - 1} differ from those of this log`);
    return undefined;
  }
  if (firstSequence + events > upTo + 1) throw refused(`it goes beyond event ${upTo}, the last announced one`);
  const frame = await verifyFrame(bytes, end, sliceTurns());
  if (end === EMPTY_LOG) configHashIn(frame, config);
  return frame;
}

async function assertPlanned({ state, capacity, context }: CollectionParts, { events, header }: Frame): Promise<void> {
  const brought = { records: 0, vectors: 0, replaceable: 0, growthBytes: 0 };
  let actor: Actor | null = null;
  for (const event of events) {
    const { type } = event;
    const isReplacing = type === 'replace' || type === 'replaceUnderKey';
    if (type === 'insert' || type === 'insertUnderKey' || isReplacing) brought.vectors++;
    if (isReplacing) brought.replaceable++;
    if (type === 'insert' || type === 'insertEncrypted' || type === 'insertUnderKey') brought.records++;
    if (event.type !== 'genesis') brought.growthBytes += addedBytes(event) + actorBesideBytes(event.actor, actor);
    actor = event.actor;
  }
  const builder = new CommitBuilder(state, await capacity.take(brought), context.limits);
  const slice = new Slice(context.clock);
  for (const event of events) {
    if (event.type === 'genesis') continue;
    const planned = builder.events.length;
    builder.as(event.actor);
    planning(event, () => (isStated(event) ? planStated(builder, event) : builder.add(callOf(event))));
    if (!isSame(builder.events[planned], event))
      throw refused(`event ${event.sequence} cannot follow the earlier events`);
    if (slice.due) await slice.next();
  }
  if (builder.liveRecords !== header.liveRecords)
    throw refused(`it states ${header.liveRecords} live records where there are ${builder.liveRecords}`);
}

/** Turns damage into a refusal: the frame was sent damaged, and no data of this service is. */
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

/** Compares the ids, which follow from the state. The rest of the planned event was copied from `event`. */
function isSame(planned: Event | undefined, event: Event): boolean {
  switch (event.type) {
    case 'insert':
    case 'replace':
    case 'insertEncrypted':
    case 'insertUnderKey':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      return planned?.type === event.type && planned.recordId === event.recordId;
    case 'addNode':
      return planned?.type === 'addNode' && planned.nodeId === event.nodeId;
    case 'addEdge':
      return planned?.type === 'addEdge' && planned.edgeId === event.edgeId;
    case 'genesis':
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
    case 'shredKey':
    case 'deleteNode':
    case 'deleteEdge':
    case 'deleteMany':
    case 'auditReads':
      return planned?.type === event.type;
    default:
      return unreachable(event);
  }
}

/** Returns the write that an event states, without its request id: each node remembers its own number of those. */
function callOf(event: Exclude<Event, { type: 'genesis' } | StatedEvent>): PlannedCall {
  switch (event.type) {
    case 'deleteMany':
      return { op: 'stated', of: event };
    case 'insertEncrypted': {
      const { keyId, nonce, ciphertext, tag, expiresAtMs } = event;
      const encrypted = { keyId: toHex(keyId), nonce, ciphertext, tag, requestId: null };
      return { op: 'insertEncrypted', ...encrypted, ...(expiresAtMs === undefined ? {} : { expiresAtMs }) };
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
    case 'auditReads':
      return { op: 'auditReads', audit: READ_AUDITS[event.kind]!, retentionDays: event.retentionDays };
    default:
      return unreachable(event);
  }
}
