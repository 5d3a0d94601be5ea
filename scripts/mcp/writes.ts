/** The tools that insert, change, delete and erase records. */
import { z } from 'zod';
import type { ErasuresResponse } from '../../coordinator/contract/erasures.js';
import type { DeleteResponse } from '../../coordinator/contract/records.js';
import { verifyErasure } from '../../verifier/index.js';
import '../../verifier/node/index.js';
import {
  collection,
  expiresAt,
  externalId,
  ids,
  ifLogIndex,
  keyId,
  keyIds,
  metadata,
  metadataFilter,
  receipt,
  recordId,
  requestId,
  vector,
} from './fields.js';
import { defineTool, Misused, type Registration } from './tool.js';

const INSERTED_MAX = 100;
const CHANGED_MAX = 100;

/** Columns of a batch that messages of the service name, each with the field of `records` that is shown instead. */
const COLUMN_RENAMES = [
  [/\$\.batch(\[\d+\])/g, 'records$1.vector'],
  [/\$\.texts(\[\d+\])/g, 'records$1.text'],
  [/\$\.(metadata|external_id|request_id|expires_at|key_id)s?(\[\d+\])/g, 'records$2.$1'],
  [/\$\.batch\b/g, 'records'],
] as const;

const lasting = { expires_at: expiresAt.optional(), key_id: keyId.optional() };
const record = {
  vector,
  text: z.string().optional(),
  metadata: metadata.optional(),
  request_id: requestId,
  ...lasting,
};

/** Returns the column `key_ids`, or no column if no record names a key. */
const keysOf = (records: readonly { readonly key_id?: string | undefined }[]): object =>
  records.some(({ key_id }) => key_id !== undefined) ? { key_ids: records.map(({ key_id = null }) => key_id) } : {};

const insertRecord = defineTool({
  name: 'insert_record',
  title: 'Insert a record',
  description:
    'Inserts a record and answers its id and the receipt of the write, which verify checks. The record is durable and found by the ' +
    'next search.',
  effect: 'adds',
  input: z.strictObject({ collection, ...record }),
  output: {
    id: z.int(),
    deduplicated: z.boolean().describe('Whether an earlier insert of the same request_id made the record.'),
    receipt,
    key_id: keyId.optional(),
  },
  renames: [[/\$\.values/g, 'vector']],
  run: (client, { vector, ...given }) => client.ask<object>('POST', '/v1/records', { ...given, values: vector }),
});

const insertRecords = defineTool({
  name: 'insert_records',
  title: 'Insert records',
  description: `Inserts up to ${INSERTED_MAX} records, all or none, and answers their ids in the same order.`,
  effect: 'adds',
  input: z.strictObject({ collection, records: z.array(z.strictObject(record)).min(1).max(INSERTED_MAX) }),
  output: { ids, key_ids: keyIds },
  renames: COLUMN_RENAMES,
  run: (client, { collection, records }) =>
    client.ask<object>('POST', '/v1/vectors/batch-insert', {
      collection,
      batch: records.map(({ vector }) => vector),
      metadata: records.map(({ metadata = null }) => metadata),
      texts: records.map(({ text = null }) => text),
      request_ids: records.map(({ request_id = null }) => request_id),
      expires_at: records.map(({ expires_at = null }) => expires_at),
      ...keysOf(records),
    }),
});

const upserted = z.strictObject({
  external_id: externalId,
  vector,
  text: z.string().optional(),
  metadata: metadata.optional(),
  ...lasting,
});

const upsertRecords = defineTool({
  name: 'upsert_records',
  title: 'Upsert records',
  description:
    `Writes up to ${INSERTED_MAX} records under external ids, all or none. A record that has the external id is replaced as a whole and ` +
    'keeps its id; the others are inserted. Answers the ids, and how many were created and replaced.',
  effect: 'destroys',
  input: z.strictObject({
    collection,
    records: z.array(upserted).min(1).max(INSERTED_MAX),
    if_log_index: ifLogIndex,
  }),
  output: { ids, created: z.int(), replaced: z.int(), key_ids: keyIds },
  renames: COLUMN_RENAMES,
  run: (client, { collection, records, if_log_index }) =>
    client.ask<object>('POST', '/v1/vectors/batch-upsert', {
      collection,
      if_log_index,
      external_ids: records.map(({ external_id }) => external_id),
      batch: records.map(({ vector }) => vector),
      metadata: records.map(({ metadata = null }) => metadata),
      texts: records.map(({ text = null }) => text),
      expires_at: records.map(({ expires_at = null }) => expires_at),
      ...keysOf(records),
    }),
});

const updateMetadata = defineTool({
  name: 'update_metadata',
  title: 'Update metadata',
  description:
    'Merges changes into the metadata of records, all or none: keys of `merge` replace those of the metadata, null removes a key, ' +
    'and all other keys stay. Exactly one of `ids`, `external_ids` and `metadata_filter` says which records.',
  effect: 'destroys',
  input: z.strictObject({
    collection,
    ids: z.array(recordId).min(1).max(CHANGED_MAX).optional(),
    external_ids: z.array(externalId).min(1).max(CHANGED_MAX).optional(),
    metadata_filter: metadataFilter,
    merge: metadata,
    if_log_index: ifLogIndex,
  }),
  output: {
    updated: z.int(),
    log_index: z.int().optional().describe('The event of the last change.'),
    missing: z.array(z.unknown()).optional().describe('The ids or external ids that no live record has.'),
  },
  run: (client, given) => client.ask<object>('POST', '/v1/records/metadata', given),
});

const deleteRecord = defineTool({
  name: 'delete_record',
  title: 'Delete a record',
  description:
    'Deletes a record for good: no later search finds it, and its id is not used again. The tool history lists the ' +
    'deletion, and verify checks its proof. Searches of the past still find the record.',
  effect: 'destroys',
  input: z.strictObject({
    collection,
    id: recordId.optional(),
    external_id: externalId.optional(),
    if_log_index: ifLogIndex,
  }),
  output: {
    deleted: z.int(),
    log_index: z.int().optional().describe('The event of the deletion.'),
    missing: z.array(z.string()).optional().describe('The external id, where no live record has it.'),
  },
  async run(client, { collection, id, external_id, if_log_index }) {
    if ((id === undefined) === (external_id === undefined)) throw new Misused('give one of id and external_id');
    if (id !== undefined) {
      const { log_index } = await client.ask<DeleteResponse>('POST', '/v1/delete', { collection, id, if_log_index });
      return { deleted: 1, log_index };
    }
    return client.ask<object>('POST', '/v1/records/delete', { collection, external_ids: [external_id], if_log_index });
  },
});

const ERASED_KEYS_MAX = 10;

const eraseKeys = defineTool({
  name: 'erase_keys',
  title: 'Erase records by their keys',
  description:
    'Destroys vault keys for good. Every content under such a key is lost, of the present and of the past, in all collections. Give ' +
    'key_ids or a metadata_filter. A filter destroys the keys of the matching records, and so every other record under these keys. ' +
    'The answer sums up the certificates of the service, which are checked here.',
  effect: 'destroys',
  input: z.strictObject({
    key_ids: z.array(z.string()).min(1).max(ERASED_KEYS_MAX).optional(),
    collection,
    metadata_filter: metadataFilter,
  }),
  output: {
    erased: z.array(
      z.object({
        key_id: z.string(),
        collections: z.array(z.object({ collection: z.string(), erased_by: z.int(), contents: z.int() })),
      }),
    ),
    partial_failures: z.array(z.unknown()).optional().describe('Keys whose erasure is unfinished: name them again.'),
    without_key: z.int().optional().describe('Matching records that are under no key, and so are not erased.'),
  },
  async run(client, given) {
    const { certificates, ...rest } = await client.ask<ErasuresResponse>('POST', '/v1/erasures', given);
    const erased = certificates.map((certificate) => {
      const { keyId, collections } = verifyErasure(certificate);
      const summed = collections.map(({ checkpoint, shred, contents }) => ({
        ...{ collection: checkpoint.origin.name, erased_by: Number(shred.sequence), contents: contents.length },
      }));
      return { key_id: keyId, collections: summed };
    });
    return { erased, ...rest };
  },
});

export const WRITES: readonly Registration[] = [
  insertRecord,
  insertRecords,
  upsertRecords,
  updateMetadata,
  deleteRecord,
  eraseKeys,
];
