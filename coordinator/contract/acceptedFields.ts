/** Fields of bodies outside of the contract's types: accepted ones, and refused ones whose error gives advice. */
import type { SchemaName } from './schemas.js';

type ByField = Readonly<Record<string, string>>;
type ByRequest = Partial<Record<SchemaName, ByField>>;

/** Accepted fields, each with the reason. They are not read, unless the reason says so. */
export const ACCEPTED_FIELDS: ByRequest = {
  RecordReference: {
    request_id: 'valoricore sends it with every deletion. A deletion that is repeated finds no record: 404.',
  },
  CreateKeyRequest: {
    description: 'valoricore sends it. It is the label of a key without a `label`, and has the same bound.',
  },
  // A client may announce the unchanged answer of `GET /v1/export`.
  BeginImportRequest: {
    collection: 'The name in the exporting service; `origin` has it too.',
    log_bytes: 'The size of the exported log.',
    log_root: 'Follows from the chain head.',
    checkpoint: 'Verified by the commands that export and import.',
  },
};

/** Unknown fields that no known field replaces, each with the advice in its error. */
export const REFUSED_FIELDS: ByRequest = {
  InsertRequest: {
    external_id: 'POST /v1/vectors/batch-upsert takes external ids',
    external_ids: 'POST /v1/vectors/batch-upsert takes external ids',
  },
  BatchInsertRequest: {
    external_id: 'POST /v1/vectors/batch-upsert takes external ids',
    external_ids: 'POST /v1/vectors/batch-upsert takes external ids',
  },
  CreateKeyRequest: { collection: 'a key is for all collections of its project' },
  MultiSearchRequest: { group_by: 'groups are made in one collection' },
};
