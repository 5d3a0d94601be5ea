/** Nodes and edges of a collection's graph, and walks over it. */
import type { GraphNode } from '../../shared/graph.js';
import type { Collection } from '../backend.js';
import type { Prepared } from '../body/kinds.js';
import type {
  CreateEdgeResponse,
  CreateNodeResponse,
  EdgesQuery,
  EdgesResponse,
  GraphQuery,
  GraphQueryResponse,
  NodeResponse,
  NodesQuery,
  NodesResponse,
  SubgraphQuery,
  SubgraphResponse,
} from '../contract/graph.js';
import type { CollectionQuery, DeleteResponse } from '../contract/records.js';
import { idParameter } from '../http/pathParameters.js';
import { json, type Reply } from '../http/reply.js';
import { findCollection } from './findCollection.js';
import { logIndex } from './logIndex.js';
import type { HandlerRequest, Services } from './route.js';

const LIMIT = 100;
const DEPTH = 2;

export async function createNode(
  { caller, body, envelope }: HandlerRequest<Prepared<'createNode'>>,
  { backend }: Services,
): Promise<Reply> {
  const collection = await findCollection(backend, caller.project, body.collection);
  const call = { op: 'addNode', kind: body.kind, recordId: body.record_id ?? null } as const;
  const { id, sequence } = await backend.call(collection, call, envelope);
  return json<CreateNodeResponse>({ node_id: id, ...logIndex(backend, sequence) });
}

export async function createEdge(
  { caller, body, envelope }: HandlerRequest<Prepared<'createEdge'>>,
  { backend }: Services,
): Promise<Reply> {
  const { from, to, kind } = body;
  const collection = await findCollection(backend, caller.project, body.collection);
  const { id, sequence } = await backend.call(collection, { op: 'addEdge', from, to, kind }, envelope);
  return json<CreateEdgeResponse>({ edge_id: id, ...logIndex(backend, sequence) });
}

export const deleteFromGraph =
  (op: 'deleteNode' | 'deleteEdge') =>
  async (
    { caller, parameters, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
    { backend }: Services,
  ): Promise<Reply> => {
    const id = idParameter(parameters[0]);
    const collection = await findCollection(backend, caller.project, query.collection);
    const { sequence } = await backend.call(collection, { op, id }, envelope);
    return json<DeleteResponse>({ success: true, ...logIndex(backend, sequence) });
  };

export async function getNode(
  { caller, parameters, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const id = idParameter(parameters[0]);
  const collection = await findCollection(backend, caller.project, query.collection);
  return json<NodeResponse>(shownNode(collection, await backend.call(collection, { op: 'graphNode', id }, envelope)));
}

export async function listNodes(
  { caller, query, envelope }: HandlerRequest<undefined, NodesQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { kind = null, offset = 0, limit = LIMIT } = query;
  const collection = await findCollection(backend, caller.project, query.collection);
  const { nodes, count } = await backend.call(collection, { op: 'graphNodes', kind, offset, limit }, envelope);
  return json<NodesResponse>({ nodes: nodes.map((node) => shownNode(collection, node)), count });
}

export async function listEdges(
  { caller, parameters, query, envelope }: HandlerRequest<undefined, EdgesQuery>,
  { backend }: Services,
): Promise<Reply> {
  const id = idParameter(parameters[0]);
  const { offset = 0, limit = null } = query;
  const collection = await findCollection(backend, caller.project, query.collection);
  const { edges } = await backend.call(collection, { op: 'graphEdges', id, offset, limit }, envelope);
  return json<EdgesResponse>({ edges: edges.map((edge) => ({ edge_id: edge.id, to_node: edge.to, kind: edge.kind })) });
}

export async function readSubgraph(
  { caller, query, envelope }: HandlerRequest<undefined, SubgraphQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { root, depth = DEPTH } = query;
  const collection = await findCollection(backend, caller.project, query.collection);
  const { nodes, edges } = await backend.call(collection, { op: 'graphSubgraph', root, depth }, envelope);
  return json<SubgraphResponse>({
    nodes: nodes.map(({ id, kind, recordId }) => ({ id, kind, record: recordId })),
    edges: edges.map(({ id, from, to, kind }) => ({ id, from, to, kind })),
  });
}

export async function queryGraph(
  { caller, query, envelope }: HandlerRequest<undefined, GraphQuery>,
  { backend }: Services,
): Promise<Reply> {
  const { start, direction = 'outgoing', depth = DEPTH, limit = LIMIT } = query;
  const kinds = { edgeKind: query.edge_kind ?? null, nodeKind: query.node_kind ?? null };
  const collection = await findCollection(backend, caller.project, query.collection);
  const call = { op: 'graphQuery', start, direction, ...kinds, depth, limit } as const;
  const { hits, count } = await backend.call(collection, call, envelope);
  return json<GraphQueryResponse>({
    hits: hits.map(({ id, kind, recordId, depth: hops }) => ({ node_id: id, kind, record_id: recordId, depth: hops })),
    count,
  });
}

const shownNode = (collection: Collection, { id, kind, recordId }: GraphNode): NodeResponse => ({
  node_id: id,
  kind,
  record_id: recordId,
  namespace_id: collection.id,
});
