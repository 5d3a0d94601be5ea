/** Fields of bodies that are not in the types of the contract: those that are accepted nevertheless, and those that need advice. */
import type { SchemaName } from './schemas.js';

type ByField = Readonly<Record<string, string>>;
type ByRequest = Partial<Record<SchemaName, ByField>>;

/** Accepted, each with the reason. Nothing reads them, except where the reason says so. */
export const ACCEPTED_FIELDS: ByRequest = {
  RecordReference: {
    request_id: 'valoricore sends it with every deletion. A deletion that is repeated finds no record: 404.',
  },
  CreateKeyRequest: {
    description:
      'valoricore sends it. It is the label of the key where there is no `label`, and it is no longer than one.',
  },
  // The answer of `GET /v1/export` is announced as it is.
  BeginImportRequest: {
    collection: 'The name in the exporting service; `origin` has it too.',
    log_bytes: 'The size of the exported log.',
    log_root: 'Follows from the chain head.',
    checkpoint: 'Verified by the commands that export and import.',
  },
};

/** Unknown fields that no known field replaces, each with what is said of it. */
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
