/**
 * What the clients of a soak asked and were told. Times are milliseconds of the one monotonic clock of the process that
 * makes the load: a call may have taken effect at any moment from its start on, and, where it was answered, before its end.
 */
import type { GraphReadCall, GraphWriteCall } from './history/graph.js';
import type { IndexCall } from './history/indexes.js';
import type { StateCall, TimelineCall } from './history/proofs.js';
import type { BatchCall, GetCall, InsertCall, RemoveCall, UpdateCall } from './history/records.js';
import type { MultiSearchCall, PartCall, SearchCall } from './history/searches.js';
import type { GetSecretCall, InsertSecretCall, KeyStatusCall, ShredCall } from './history/secrets.js';

/** Each may have made events in the log of its collection. */
export type WriteCall = InsertCall | BatchCall | RemoveCall | UpdateCall | InsertSecretCall | GraphWriteCall;
/** Each tells what one collection is. */
export type ReadCall = GetCall | SearchCall | GetSecretCall | StateCall | TimelineCall | GraphReadCall;
/** Of a whole project. A shred makes an event in the log of every collection that has records under the key. */
export type KeyCall = ShredCall | KeyStatusCall;

export type Call = WriteCall | ReadCall | MultiSearchCall | KeyCall | IndexCall;

const WRITES: Readonly<Record<WriteCall['op'], true>> = {
  insert: true,
  insertBatch: true,
  softDelete: true,
  delete: true,
  updateMetadata: true,
  insertEncrypted: true,
  addNode: true,
  addEdge: true,
  deleteNode: true,
  deleteEdge: true,
};

const READS: Readonly<Record<ReadCall['op'], true>> = {
  get: true,
  search: true,
  getEncrypted: true,
  state: true,
  timeline: true,
  getNode: true,
  edges: true,
  subgraph: true,
};

export const isWrite = (call: Call): call is WriteCall => call.op in WRITES;
export const isRead = (call: Call): call is ReadCall => call.op in READS;

/** For people: who asked what, when, and what came of it. */
export function describeCall(call: Call | PartCall): string {
  const { op, client, via, startMs, endMs, outcome, collection, ...what } = call;
  const result = outcome.kind === 'ok' ? JSON.stringify(outcome.answer) : JSON.stringify(outcome);
  const times = `${startMs.toFixed(1)}–${endMs.toFixed(1)} ms`;
  return `client ${client} via ${via}, ${times}: ${op} of ${collection} ${JSON.stringify(what)} → ${result}`;
}
