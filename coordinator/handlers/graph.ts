/** The endpoints of a collection's graph: its nodes, its edges, and walks over it. */
import type { GraphNode } from '../../shared/model/graph.js';
import { prepareNodes } from '../body/recordNames.js';
import type { Collection } from '../cluster/catalog/collection.js';
import {
  assertEdgesQuery,
  assertGraphQuery,
  assertNodesQuery,
  assertSubgraphQuery,
  type CreateEdgeResponse,
  type CreateNodeResponse,
  type EdgesResponse,
  type GraphQueryResponse,
  type NodeResponse,
  type NodesResponse,
  type SubgraphResponse,
} from '../contract/graph.js';
import type { CollectionQuery, DeleteResponse } from '../contract/records.js';
import { COLLECTION_ERRORS, type HandlerRequest } from '../http/handlerRequest.js';
import { json, type Reply } from '../http/reply.js';
import { inCollection, queryType, type Route, readRoute, writeRoute } from '../http/route.js';
import { refuseIdempotencyKey } from './idempotencyKey.js';

const LIMIT = 100;
const DEPTH = 2;

export const GRAPH_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/graph/node', {
    alsoReads: true,
    summary: 'Create a graph node',
    body: 'createNode',
    answers: 'CreateNodeResponse',
    errors: [...COLLECTION_ERRORS, 'record_not_found'],
    handle: async (request) => {
      refuseIdempotencyKey(request.idempotencyKey);
      const { id, sequence } = await request.callNamed(request.body.collection, request.body.call);
      return json<CreateNodeResponse>({ node_id: id, ...request.logIndex(sequence) });
    },
  }),
  readRoute('GET /v1/graph/node/{id}', {
    summary: 'Read a graph node',
    query: inCollection,
    answers: 'NodeResponse',
    errors: ['not_found'],
    handle: async (request) => {
      const { id } = request;
      const collection = await request.find(request.query.collection);
      return json<NodeResponse>(nodeOf(collection, await request.call(collection, { op: 'graphNode', id })));
    },
  }),
  writeRoute('DELETE /v1/graph/node/{id}', {
    alsoReads: true,
    summary: 'Delete a graph node and its edges',
    query: inCollection,
    answers: 'DeleteResponse',
    errors: ['not_found'],
    handle: (request) => deleteItem('deleteNode', request),
  }),
  readRoute('GET /v1/graph/nodes', {
    summary: 'List graph nodes',
    query: queryType('NodesQuery', (given) => prepareNodes(assertNodesQuery(given))),
    answers: 'NodesResponse',
    handle: async (request) => {
      const { kind = null, offset = 0, limit = LIMIT, of } = request.query;
      const collection = await request.find(request.query.collection);
      const call = { op: 'graphNodes', kind, offset, limit, ...(of === undefined ? {} : { of }) } as const;
      const { nodes, count } = await request.call(collection, call);
      return request.longJson<NodesResponse>({ nodes: nodes.map((node) => nodeOf(collection, node)), count });
    },
  }),
  writeRoute('POST /v1/graph/edge', {
    alsoReads: true,
    summary: 'Create a graph edge',
    body: 'createEdge',
    answers: 'CreateEdgeResponse',
    errors: [...COLLECTION_ERRORS, 'not_found'],
    handle: async (request) => {
      refuseIdempotencyKey(request.idempotencyKey);
      const { collection, from, to, kind } = request.body;
      const { id, sequence } = await request.callNamed(collection, { op: 'addEdge', from, to, kind });
      return json<CreateEdgeResponse>({ edge_id: id, ...request.logIndex(sequence) });
    },
  }),
  writeRoute('DELETE /v1/graph/edge/{id}', {
    alsoReads: true,
    summary: 'Delete a graph edge',
    query: inCollection,
    answers: 'DeleteResponse',
    errors: ['not_found'],
    handle: (request) => deleteItem('deleteEdge', request),
  }),
  readRoute('GET /v1/graph/edges/{id}', {
    summary: "List a node's outgoing edges",
    query: queryType('EdgesQuery', assertEdgesQuery),
    answers: 'EdgesResponse',
    errors: ['not_found'],
    handle: async (request) => {
      const { id } = request;
      const { collection, offset = 0, limit = null } = request.query;
      const { edges } = await request.callNamed(collection, { op: 'graphEdges', id, offset, limit });
      return request.longJson<EdgesResponse>({
        edges: edges.map((edge) => ({ edge_id: edge.id, to_node: edge.to, kind: edge.kind })),
      });
    },
  }),
  readRoute('GET /v1/graph/subgraph', {
    summary: 'Read the nodes that a node leads to',
    query: queryType('SubgraphQuery', assertSubgraphQuery),
    answers: 'SubgraphResponse',
    errors: ['not_found'],
    handle: async (request) => {
      const { collection, root, depth = DEPTH } = request.query;
      const { nodes, edges } = await request.callNamed(collection, { op: 'graphSubgraph', root, depth });
      return request.longJson<SubgraphResponse>({
        nodes: nodes.map(({ id, kind, recordId }) => ({ id, kind, record: recordId })),
        edges: edges.map(({ id, from, to, kind }) => ({ id, from, to, kind })),
      });
    },
  }),
  readRoute('GET /v1/graph/query', {
    summary: 'Walk the graph from a node',
    query: queryType('GraphQuery', assertGraphQuery),
    answers: 'GraphQueryResponse',
    errors: ['not_found'],
    handle: async (request) => {
      const { collection, start, direction = 'outgoing', depth = DEPTH, limit = LIMIT } = request.query;
      const { edge_kind: edgeKind = null, node_kind: nodeKind = null } = request.query;
      const call = { op: 'graphQuery', start, direction, edgeKind, nodeKind, depth, limit } as const;
      const { hits, count } = await request.callNamed(collection, call);
      return request.longJson<GraphQueryResponse>({
        hits: hits.map((hit) => ({ node_id: hit.id, kind: hit.kind, record_id: hit.recordId, depth: hit.depth })),
        count,
      });
    },
  }),
];

async function deleteItem(
  op: 'deleteNode' | 'deleteEdge',
  request: HandlerRequest<unknown, CollectionQuery>,
): Promise<Reply> {
  const { sequence } = await request.callNamed(request.query.collection, { op, id: request.id });
  return json<DeleteResponse>({ success: true, ...request.logIndex(sequence) });
}

const nodeOf = (collection: Collection, { id, kind, recordId }: GraphNode): NodeResponse => ({
  node_id: id,
  kind,
  record_id: recordId,
  namespace_id: collection.id,
});
