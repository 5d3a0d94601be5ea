/** HTTP requests and answers of calls about records with a vector. */
import { verifyReceipt, type WriteReceipt } from '../../../../verifier/receipt.js';
import type {
  BatchCall,
  GetCall,
  InsertCall,
  MergeCall,
  MergeManyCall,
  ReceiptClaim,
  RemoveCall,
  UpdateCall,
} from '../../history/records.js';
import { get, NO_RECORD, NOT_DONE, post, type Way } from './call.js';

interface Logged {
  readonly log_index: number;
}

export const insert: Way<
  InsertCall,
  { readonly id: number; readonly deduplicated: boolean; readonly receipt: WriteReceipt }
> = {
  request: ({ collection, row: { vector: values, metadata, text, requestId } }) =>
    post('/v1/records', {
      collection,
      values,
      metadata: [...Buffer.from(JSON.stringify(metadata))],
      text,
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
      texts: rows.map(({ text }) => text),
      request_ids: rows.map(({ requestId }) => requestId),
    }),
  answer: ({ ids }) => ({ ids }),
};

export const remove: Way<RemoveCall, Logged> = {
  request: ({ op, collection, id, since }) =>
    post(op === 'delete' ? '/v1/delete' : '/v1/soft-delete', { collection, id, if_log_index: since }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NOT_DONE,
};

export const updateMetadata: Way<UpdateCall, Logged> = {
  request: ({ collection, id, since, metadata }) => ({
    method: 'PATCH',
    path: pathOf(collection, id, since),
    body: metadata,
  }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NOT_DONE,
};

export const mergeMetadata: Way<MergeCall, Logged> = {
  request: ({ collection, id, since, merge }) => ({
    ...{ method: 'PATCH', path: pathOf(collection, id, since), body: merge },
    type: 'application/merge-patch+json',
  }),
  answer: ({ log_index: sequence }) => ({ sequence }),
  noes: NOT_DONE,
};

export const mergeMany: Way<MergeManyCall, { readonly updated: number; readonly missing?: readonly number[] }> = {
  request: ({ collection, of, merge }) => {
    const chosen = 'ids' in of ? of : { metadata_filter: of };
    return post('/v1/records/metadata', { collection, ...chosen, merge });
  },
  answer: ({ updated, missing = [] }) => ({ updated, missing }),
};

const pathOf = (collection: string, id: number, since: number | null): string =>
  `/v1/records/${id}/metadata?collection=${collection}${since === null ? '' : `&if_log_index=${since}`}`;

export const getRecord: Way<GetCall, { readonly vector: readonly number[]; readonly metadata: unknown }> = {
  request: ({ collection, id }) => get(`/v1/records/${id}?collection=${collection}`),
  answer: ({ vector, metadata }) => ({ vector, metadata }),
  noes: NO_RECORD,
};

function claimOf(receipt: WriteReceipt): ReceiptClaim {
  const { record_id: recordId, sequence, old_root: oldRoot, new_root: newRoot, state_hash: stateHash } = receipt;
  return { recordId, sequence, oldRoot, newRoot, stateHash, problems: verifyReceipt(receipt) };
}
