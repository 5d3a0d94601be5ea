/** The routes of the graph. */
import {
  assertEdgesQuery,
  assertGraphQuery,
  assertNodesQuery,
  assertSubgraphQuery,
  type EdgesQuery,
  type GraphQuery,
  type NodesQuery,
  type SubgraphQuery,
} from '../contract/graph.js';
import type { Answer } from '../contract/openapi.js';
import { assertCollectionQuery, type CollectionQuery } from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import {
  createEdge,
  createNode,
  deleteFromGraph,
  getNode,
  listEdges,
  listNodes,
  queryGraph,
  readSubgraph,
} from './graph.js';
import { queryType, type Route, route } from './route.js';

const READ = { scope: 'read_only', category: 'read' } as const;
const WRITE = { scope: 'read_write', category: 'write' } as const;

const ok = (body: SchemaName): Answer[] => [{ status: 200, description: 'Success.', body }];
const inCollection = queryType<CollectionQuery>('CollectionQuery', assertCollectionQuery);

export const GRAPH_ROUTES: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/graph/node',
    summary: 'Create a graph node',
    body: 'createNode',
    answers: ok('CreateNodeResponse'),
    errors: ['collection_not_found', 'record_not_found'],
    handle: createNode,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/node/{id}',
    summary: 'Read a graph node',
    query: inCollection,
    answers: ok('NodeResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: getNode,
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/graph/node/{id}',
    summary: 'Delete a graph node and its edges',
    query: inCollection,
    answers: ok('DeleteResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: deleteFromGraph('deleteNode'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/nodes',
    summary: 'List graph nodes',
    query: queryType<NodesQuery>('NodesQuery', assertNodesQuery),
    answers: ok('NodesResponse'),
    errors: ['collection_not_found'],
    handle: listNodes,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/graph/edge',
    summary: 'Create a graph edge',
    body: 'createEdge',
    answers: ok('CreateEdgeResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: createEdge,
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/graph/edge/{id}',
    summary: 'Delete a graph edge',
    query: inCollection,
    answers: ok('DeleteResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: deleteFromGraph('deleteEdge'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/edges/{id}',
    summary: "List a node's outgoing edges",
    query: queryType<EdgesQuery>('EdgesQuery', assertEdgesQuery),
    answers: ok('EdgesResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: listEdges,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/subgraph',
    summary: 'Read what a node leads to',
    query: queryType<SubgraphQuery>('SubgraphQuery', assertSubgraphQuery),
    answers: ok('SubgraphResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: readSubgraph,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/graph/query',
    summary: 'Walk the graph from a node',
    query: queryType<GraphQuery>('GraphQuery', assertGraphQuery),
    answers: ok('GraphQueryResponse'),
    errors: ['collection_not_found', 'not_found'],
    handle: queryGraph,
  }),
];
