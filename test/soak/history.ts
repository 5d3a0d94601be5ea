/**
 * Calls of a soak's clients with their answers. Times are milliseconds of the one monotonic clock of the process that
 * makes the load. A call may take effect at any moment from its start on; if it was answered, before its end.
 */
import type { MoveAliasCall, SearchAliasCall } from './history/aliases.js';
import type { GraphReadCall, GraphWriteCall } from './history/graph.js';
import type { IndexCall } from './history/indexes.js';
import type { ListCall } from './history/lists.js';
import type { StateCall, TimelineCall } from './history/proofs.js';
import type {
  BatchCall,
  GetCall,
  InsertCall,
  MergeCall,
  MergeManyCall,
  RemoveCall,
  UpdateCall,
} from './history/records.js';
import type { MultiSearchCall, PartCall, SearchCall } from './history/searches.js';
import type { GetSecretCall, InsertSecretCall, KeyStatusCall, ShredCall } from './history/secrets.js';
import type { HybridCall, TextCall } from './history/texts.js';

/** A call that may have caused events in the log of its collection. */
export type WriteCall =
  | InsertCall
  | BatchCall
  | RemoveCall
  | UpdateCall
  | MergeCall
  | MergeManyCall
  | InsertSecretCall
  | GraphWriteCall;
/** A call whose answer shows the state of one collection. */
export type ReadCall =
  | GetCall
  | SearchCall
  | ListCall
  | TextCall
  | HybridCall
  | GetSecretCall
  | StateCall
  | TimelineCall
  | GraphReadCall;
/** A call about the alias, which may lead to one of several collections. */
export type AliasCall = MoveAliasCall | SearchAliasCall;
/**
 * A call about a key of the project. A shred causes an event in the log of every collection with records under the key.
 */
export type KeyCall = ShredCall | KeyStatusCall;

export type Call = WriteCall | ReadCall | MultiSearchCall | KeyCall | IndexCall | AliasCall;

const WRITES: Readonly<Record<WriteCall['op'], true>> = {
  insert: true,
  insertBatch: true,
  softDelete: true,
  delete: true,
  updateMetadata: true,
  mergeMetadata: true,
  mergeMany: true,
  insertEncrypted: true,
  addNode: true,
  addEdge: true,
  deleteNode: true,
  deleteEdge: true,
};

const READS: Readonly<Record<ReadCall['op'], true>> = {
  get: true,
  search: true,
  list: true,
  searchText: true,
  searchHybrid: true,
  getEncrypted: true,
  state: true,
  timeline: true,
  getNode: true,
  edges: true,
  subgraph: true,
};

export const isWrite = (call: Call): call is WriteCall => call.op in WRITES;
export const isRead = (call: Call): call is ReadCall => call.op in READS;

/** Describes a call and its outcome in one line. */
export function describeCall(call: Call | PartCall): string {
  const { op, client, via, startMs, endMs, outcome, collection, ...what } = call;
  const result = outcome.kind === 'ok' ? JSON.stringify(outcome.answer) : JSON.stringify(outcome);
  const times = `${startMs.toFixed(1)}–${endMs.toFixed(1)} ms`;
  return `client ${client} via ${via}, ${times}: ${op} of ${collection} ${JSON.stringify(what)} → ${result}`;
}
