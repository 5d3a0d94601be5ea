/** HTTP requests and answers of calls about records with a vector. */
import { verifyReceipt, type WriteReceipt } from '../../../../verifier/receipt.js';
import type { BatchCall, GetCall, InsertCall, ReceiptClaim, RemoveCall, UpdateCall } from '../../history/records.js';
import { get, NO_RECORD, post, type Way } from './call.js';

interface Logged {
  readonly log_index: number;
}

export const insert: Way<
  InsertCall,
  { readonly id: number; readonly deduplicated: boolean; readonly receipt: WriteReceipt }
> = {
  request: ({ collection, row: { vector: values, metadata, requestId } }) =>
    post('/v1/records', {
      collection,
      values,
      metadata: [...Buffer.from(JSON.stringify(metadata))],
      request_id: requestId,
    }),
  answer: ({ id, deduplicated, receipt }) => ({ id, deduplicated, receipt: claimOf(receipt) }),
};

export const insertBatch: Way<BatchCall, { readonly ids: readonly number[] }> = {
  request: ({ collection, rows }) =>
    post('/v1/vectors/batch-insert', {
      collection,
      batch: rows.map(({ vector }) => vector),
      metadata: rows.map(({ metadata }) => metadata),
      request_ids: rows.map(({ requestId }) => requestId),
    }),
  answer: ({ ids }) => ({ ids }),
};

export const remove: Way<RemoveCall, Logged> = {
  request: ({ op, collection, id }) => post(op === 'delete' ? '/v1/delete' : '/v1/soft-delete', { collection, id }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NO_RECORD,
};

export const updateMetadata: Way<UpdateCall, Logged> = {
  request: ({ collection, id, metadata }) => ({
    method: 'PATCH',
    path: `/v1/records/${id}/metadata?collection=${collection}`,
    body: metadata,
  }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NO_RECORD,
};

export const getRecord: Way<GetCall, { readonly vector: readonly number[]; readonly metadata: unknown }> = {
  request: ({ collection, id }) => get(`/v1/records/${id}?collection=${collection}`),
  answer: ({ vector, metadata }) => ({ vector, metadata }),
  noes: NO_RECORD,
};

function claimOf(receipt: WriteReceipt): ReceiptClaim {
  const { record_id: recordId, sequence, old_root: oldRoot, new_root: newRoot, state_hash: stateHash } = receipt;
  return { recordId, sequence, oldRoot, newRoot, stateHash, problems: verifyReceipt(receipt) };
}
