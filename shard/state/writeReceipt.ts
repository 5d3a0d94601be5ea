/** The receipt of a committed write, made from its frame and the history of the state. */

import { unreachable } from '../../shared/errors/errors.js';
import type { Event } from '../../shared/log/event.js';
import { chainHeadBefore, type Frame, hashAt } from '../../shared/log/frame.js';
import type { Receipt } from '../../shared/model/receipt.js';
import { makeReceipt } from '../audit/receipt.js';
import type { CollectionState } from './collectionState.js';

/** Returns the record that the event changes, and whether the event inserts it; undefined if it changes no record. */
export function recordOf(event: Event): { readonly recordId: number; readonly isNew: boolean } | undefined {
  switch (event.type) {
    case 'insert':
    case 'insertEncrypted':
    case 'insertUnderKey':
      return { recordId: event.recordId, isNew: true };
    case 'softDelete':
    case 'delete':
    case 'replace':
    case 'updateMetadata':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      return { recordId: event.recordId, isNew: false };
    case 'genesis':
    case 'deleteMany':
    case 'shredKey':
    case 'addNode':
    case 'deleteNode':
    case 'addEdge':
    case 'deleteEdge':
    case 'auditReads':
      return undefined;
    default:
      return unreachable(event);
  }
}

/**
 * Makes the receipt of the applied event at `index` of the frame, which must change a record, from the state tree after
 * that event. Yields where it may pause. Costs as much as `StateTree.pastWrite`.
 */
export function* writeReceipt(
  frame: Frame,
  index: number,
  { tree, graph }: CollectionState,
  configHash: Uint8Array,
): Generator<undefined, Receipt> {
  const event = frame.events[index] as Event;
  const { sequence, timeMs, actor } = event;
  const written = recordOf(event);
  if (written === undefined) throw new RangeError(`event ${sequence} changed no record`);
  const { recordId, isNew } = written;
  const facts = {
    recordId,
    sequence,
    timeMs,
    actor,
    chainHeadBefore: chainHeadBefore(frame, index),
    chainHead: hashAt(frame.chainHeads, index),
    eventHash: hashAt(frame.eventHashes, index),
    graphRoot: graph.rootAt(sequence),
    configHash,
  };
  // An inserted record is the last leaf.
  const leaves = isNew ? recordId : tree.leavesAfterChange(sequence);
  const receipt = makeReceipt(facts, yield* tree.pastWrite(recordId - 1, leaves, sequence), tree.stated);
  tree.stated = { sequence, new_root: receipt.new_root };
  return receipt;
}
