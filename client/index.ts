/** `@vouch/client`: collections, records, searches, graphs, proofs and keys of a Vouch service. */
export { AccessLog, type AccessOptions } from './accessLog.js';
export { Collection, type Insert } from './collection.js';
export type * from './contract/access.js';
export type * from './contract/backup.js';
export type * from './contract/cluster.js';
export type * from './contract/collections.js';
export type * from './contract/encrypted.js';
export type * from './contract/erasures.js';
export type * from './contract/graph.js';
export type * from './contract/proofs.js';
export type * from './contract/records.js';
export type * from './contract/search.js';
export type * from './contract/service.js';
export {
  type ErasureSigners,
  type VerifiedCollectionErasure,
  type VerifiedErasure,
  verifyErasure,
} from './erasures.js';
export * from './errors.js';
export type { ExportPiece } from './exportLog.js';
export { type ExportClaims, type VerifiedExport, verifyExport } from './exports.js';
export { Graph } from './graph.js';
export type { CallOptions, HttpOptions } from './http.js';
export type { InsertManyOptions, InsertManyProgress, InsertManyResult, NewRecord } from './insertMany.js';
export type {
  ChangeOptions,
  FacetOptions,
  GetOptions,
  IdempotentOptions,
  ListOptions,
  Matching,
  TimelineOptions,
} from './options.js';
export {
  type CheckedCollection,
  type CheckedLog,
  type CheckpointStore,
  memoryStore,
  PinnedCheckpoints,
  storageStore,
} from './pinnedCheckpoints.js';
export {
  type SentRecord,
  type Signer,
  type VerifiedCheckpoint,
  type VerifiedConsistency,
  type VerifiedInclusion,
  type VerifiedLogged,
  type VerifiedReceipt,
  verifyCheckpoint,
  verifyConsistency,
  verifyInclusion,
  verifyLogged,
  verifyReceipt,
} from './proofs.js';
export type { RecordName } from './recordName.js';
export type { JsonObject, Vector } from './values.js';
export { Vouch } from './vouch.js';
export type { WaitOptions } from './waitForIndex.js';
