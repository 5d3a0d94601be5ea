/** Results of committed writes. */
import { unreachable } from '../../shared/errors/errors.js';
import type { Event } from '../../shared/log/event.js';
import type { Receipt } from '../../shared/model/receipt.js';
import type { Results } from '../../shared/protocol/calls.js';
import type { WriteCall } from '../../shared/protocol/writes.js';
import type { Envelope } from '../../shared/transport/transport.js';
import { receiptJson } from '../audit/receipt.js';
import { bytesOf } from '../search/found.js';
import type { CollectionState } from '../state/collectionState.js';
import type { WriteAnswer } from '../state/plannedCalls.js';
import type { CollectionParts } from './logImport.js';

/** Receipts of a commit, by sequence. */
export type Receipts = Map<number, Receipt>;

type Inserted = Extract<WriteAnswer, { kind: 'insert' }>;

/** Returns the result of an insert whose receipt was made in the commit; undefined for any other write. */
export function committedResult(
  state: CollectionState,
  answer: WriteAnswer,
  receipts: Receipts,
): Results['insert'] | undefined {
  if (answer.kind !== 'insert') return undefined;
  const receipt = receipts.get(answer.write.sequence);
  return receipt && insertResult(state, answer, receipt);
}

function insertResult(
  { encrypted }: CollectionState,
  { write: { recordId: id }, deduplicated }: Inserted,
  receipt: Receipt,
): Results['insert'] {
  const keyId = encrypted.get(id)?.keyId;
  return { id, deduplicated, receipt: receiptJson(receipt), ...(keyId && { keyId }) };
}

/** Returns the result of an applied write. Throws errors of a receipt that is made again. */
export async function resultOf(
  { journal, proofs, vault, state, erased }: CollectionParts,
  answer: WriteAnswer,
  { deadlineMs }: Envelope,
): Promise<Results[WriteCall['op']]> {
  switch (answer.kind) {
    case 'insert':
      // A repeated write may be far back: its receipt is made again from the log and the history of the tree.
      return insertResult(state, answer, await proofs.receipt(answer.write.sequence, deadlineMs));
    case 'encrypted': {
      const { keyId, write } = answer;
      return keyId === null ? vault.replayOf(write) : { id: write.recordId, keyId };
    }
    case 'batch': {
      const { ids, created, isReplay } = answer;
      return { ids: bytesOf(ids), created, ...(isReplay && { deduplicated: true }), ...keysOf(state, ids) };
    }
    case 'deleted':
      return { deleted: answer.deleted, missing: answer.missing, sequence: answer.sequence };
    case 'patched':
      return { updated: answer.updated, missing: answer.missing, sequence: answer.sequence };
    case 'deletedBefore':
      return deletedBefore(await journal.eventAt(answer.sequence));
    case 'added':
    case 'changed':
      return { id: answer.id, sequence: answer.sequence };
    case 'access':
      return { sequence: answer.sequence, audit: state.readAudit, retentionDays: state.accessRetentionDays };
    case 'sequence':
      // A shred is answered when no past state in memory has what it erases.
      await erased();
      return { sequence: answer.sequence };
    default:
      return unreachable(answer);
  }
}

function deletedBefore(event: Event): Results['deleteMany'] {
  if (event.type !== 'deleteMany') throw new RangeError(`event ${event.sequence} ends no deletions`);
  return { deleted: event.deleted, missing: [], sequence: event.sequence - 1, deduplicated: true };
}

/** Returns the keys of the records; nothing if none is under a key. */
function keysOf({ encrypted }: CollectionState, ids: Float64Array): { keyIds?: (string | null)[] } {
  if (!encrypted.hasContents) return {};
  const keyIds = Array.from(ids, (recordId) => encrypted.get(recordId)?.keyId ?? null);
  return keyIds.some((keyId) => keyId !== null) ? { keyIds } : {};
}
