/** The receipt of a write whose event is in the log, made of its frame and the history of the state. */
import type { Receipt } from '../../shared/calls.js';
import { unreachable } from '../../shared/errors.js';
import type { Event } from '../../shared/log/event.js';
import { chainHeadBefore, type Frame, hashAt } from '../../shared/log/frame.js';
import { makeReceipt } from '../audit/receipt.js';
import type { CollectionState } from '../collection/collectionState.js';

/** Of the record that the event changes: its id, and whether the event makes it; undefined where it changes none. */
export function recordOf(event: Event): { readonly recordId: number; readonly isNew: boolean } | undefined {
  switch (event.type) {
    case 'insert':
    case 'insertEncrypted':
      return { recordId: event.recordId, isNew: true };
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
      return { recordId: event.recordId, isNew: false };
    case 'genesis':
    case 'shredKey':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
      return undefined;
    default:
      return unreachable(event);
  }
}

/**
 * A walk over the state tree as the write left it, which yields where it may rest; costs as `StateTree.pastWrite`. The
 * event at `index` of the frame is applied, and changes a record.
 */
export function* writeReceipt(
  frame: Frame,
  index: number,
  { tree, graph }: CollectionState,
  configHash: Uint8Array,
): Generator<undefined, Receipt> {
  const event = frame.events[index] as Event;
  const { sequence, timeMs } = event;
  const written = recordOf(event);
  if (written === undefined) throw new RangeError(`event ${sequence} changed no record`);
  const { recordId, isNew } = written;
  const facts = {
    recordId,
    sequence,
    timeMs,
    chainHeadBefore: chainHeadBefore(frame, index),
    eventHash: hashAt(frame.eventHashes, index),
    graphRoot: graph.rootAt(sequence),
    configHash,
  };
  // The record an insert makes is the last leaf there is.
  const leaves = isNew ? recordId : tree.leavesAfterChange(sequence);
  return makeReceipt(facts, yield* tree.pastWrite(recordId - 1, leaves, sequence));
}
