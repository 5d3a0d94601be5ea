/** Routes of the contract that answer 501 for now: encrypted records, the graph, proofs and the timeline. */
import {
  assertConsistencyQuery,
  assertGraphQuery,
  assertNodesQuery,
  assertReceiptQuery,
  assertSubgraphQuery,
  assertTimelineQuery,
} from '../contract/graph.js';
import { assertCollectionQuery } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { idParameter } from '../http/pathParameters.js';
import { refuseRoute } from './notYet.js';
import { queryType, type Route, route } from './route.js';

const READ = { scope: 'read_only', category: 'read', answers: [], errors: ['not_implemented'] } as const;
const WRITE = { scope: 'read_write', category: 'write', answers: [], errors: ['not_implemented'] } as const;

const inCollection = queryType('CollectionQuery', assertCollectionQuery);
const KEY_ID = /^[0-9a-f]{32}$/;

function assertKeyId(keyId: string | undefined): void {
  if (keyId === undefined || !KEY_ID.test(keyId)) throw invalid('the key id in the path is not 32 lowercase hex');
}

const ENCRYPTED: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/records/encrypted',
    summary: 'Insert an encrypted record',
    body: 'insertEncrypted',
    handle: refuseRoute('inserting encrypted records'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/records/encrypted/{id}',
    summary: 'Read an encrypted record',
    query: inCollection,
    handle: refuseRoute('reading encrypted records', idParameter),
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/crypto/shred/{key_id}',
    summary: 'Destroy a vault key',
    handle: refuseRoute('crypto-shredding', assertKeyId),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/crypto/status/{key_id}',
    summary: 'Status of a vault key',
    handle: refuseRoute('the status of vault keys', assertKeyId),
  }),
];

const GRAPH: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/graph/node',
    summary: 'Create a graph node',
    body: 'createNode',
    handle: refuseRoute('the graph'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/node/{id}',
    summary: 'Read a graph node',
    query: inCollection,
    handle: refuseRoute('the graph', idParameter),
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/graph/node/{id}',
    summary: 'Delete a graph node and its edges',
    query: inCollection,
    handle: refuseRoute('the graph', idParameter),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/nodes',
    summary: 'List graph nodes',
    query: queryType('NodesQuery', assertNodesQuery),
    handle: refuseRoute('the graph'),
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/graph/edge',
    summary: 'Create a graph edge',
    body: 'createEdge',
    handle: refuseRoute('the graph'),
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/graph/edge/{id}',
    summary: 'Delete a graph edge',
    query: inCollection,
    handle: refuseRoute('the graph', idParameter),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/edges/{id}',
    summary: "List a node's outgoing edges",
    query: inCollection,
    handle: refuseRoute('the graph', idParameter),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/subgraph',
    summary: 'Read what surrounds a node',
    query: queryType('SubgraphQuery', assertSubgraphQuery),
    handle: refuseRoute('the graph'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/query',
    summary: 'Walk the graph from a node',
    query: queryType('GraphQuery', assertGraphQuery),
    handle: refuseRoute('the graph'),
  }),
];

const PROOFS: readonly Route[] = [
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/state',
    summary: "Roots and hashes of a collection's state",
    query: inCollection,
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/event-log',
    summary: "Hashes of a collection's log",
    query: inCollection,
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/receipt',
    summary: 'The receipt of a past write',
    query: queryType('ReceiptQuery', assertReceiptQuery),
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/consistency',
    summary: 'Proof that a later log extends an earlier one',
    query: queryType('ConsistencyQuery', assertConsistencyQuery),
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/timeline',
    summary: "A collection's events in order",
    query: queryType('TimelineQuery', assertTimelineQuery),
    handle: refuseRoute('the timeline'),
  }),
];

export const NOT_YET_ROUTES: readonly Route[] = [...ENCRYPTED, ...GRAPH, ...PROOFS];
