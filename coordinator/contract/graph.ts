/** Requests and answers of the graph. */

import typia from 'typia';
import type { GRAPH_PAGE_MAX } from '../../shared/model/graph.js';
import type { WholeBetween } from '../../shared/model/whole.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { ExternalId, Whole } from './values.js';

export type NodeKind = number & WholeBetween<0, 6>;
export type EdgeKind = number & WholeBetween<0, 8>;
type Depth = number & WholeBetween<0, 4>;
type PageLimit = number & WholeBetween<0, typeof GRAPH_PAGE_MAX>;

export interface CreateNodeRequest {
  /** 0 Record, 1 Concept, 2 Agent, 3 User, 4 Tool, 5 Document, 6 Chunk. */
  kind: NodeKind;
  /** The record that the node represents. A hard delete of the record deletes the node. */
  record_id?: Whole | null;
  /** The external id of this record, in place of `record_id`. */
  external_id?: ExternalId | null;
  collection?: string | null;
}

export interface CreateEdgeRequest {
  from: Whole;
  to: Whole;
  /** 0 Relation, 1 Follows, 2 InEpisode, 3 ByAgent, 4 Mentions, 5 RefersTo, 6 ParentOf, 7 Supersedes, 8 Contradicts. */
  kind: EdgeKind;
  collection?: string | null;
}

export interface CreateNodeResponse {
  node_id: Whole;
  /** In cluster mode: the sequence of the write in the collection's log. */
  log_index?: Whole;
}

export interface CreateEdgeResponse {
  edge_id: Whole;
  log_index?: Whole;
}

export interface NodeResponse {
  node_id: Whole;
  kind: Whole;
  record_id: Whole | null;
  /** The collection's id. */
  namespace_id: Whole;
}

export interface NodesQuery {
  collection?: string;
  kind?: NodeKind;
  /** Only nodes of this record. */
  record_id?: Whole;
  /** Only nodes of the live record with this external id. */
  external_id?: ExternalId;
  /** Default 0. */
  offset?: Whole;
  /** Default 100. */
  limit?: PageLimit;
}

export interface NodesResponse {
  /** In order of ids. */
  nodes: NodeResponse[];
  /** The number of nodes on all pages. */
  count: Whole;
}

export interface EdgesQuery {
  collection?: string;
  offset?: Whole;
  /** Omitted: all edges, up to the greatest limit. */
  limit?: PageLimit;
}

export interface EdgesResponse {
  /** In order of ids. */
  edges: { edge_id: Whole; to_node: Whole; kind: Whole }[];
}

export interface SubgraphQuery {
  collection?: string;
  root: Whole;
  depth?: Depth;
}

export interface SubgraphResponse {
  /** The root and the nodes that its outgoing edges lead to; by depth, then by id. */
  nodes: { id: Whole; kind: Whole; record: Whole | null }[];
  /** All edges between these nodes, by id. */
  edges: { id: Whole; from: Whole; to: Whole; kind: Whole }[];
}

export interface GraphQuery {
  collection?: string;
  start: Whole;
  /** Default `outgoing`. */
  direction?: 'outgoing' | 'incoming' | 'both';
  /** Only edges of this kind are followed. */
  edge_kind?: EdgeKind;
  /** Only nodes of this kind are hits; the walk passes nodes of any kind. */
  node_kind?: NodeKind;
  /** Default 2. */
  depth?: Depth;
  /** Default 100. */
  limit?: number & WholeBetween<1, 1000>;
}

export interface GraphQueryResponse {
  /** Hits in the order of depth, then id. The start is a hit at depth 0. */
  hits: { node_id: Whole; kind: Whole; record_id: Whole | null; depth: Whole }[];
  /** The number of hits, including those beyond the limit. */
  count: Whole;
}

export const assertCreateNode = typia.createAssert<CreateNodeRequest>(refuseBody);
export const assertCreateEdge = typia.createAssert<CreateEdgeRequest>(refuseBody);
export const assertNodesQuery = typia.createAssert<NodesQuery>(refuseQuery);
export const assertEdgesQuery = typia.createAssert<EdgesQuery>(refuseQuery);
export const assertSubgraphQuery = typia.createAssert<SubgraphQuery>(refuseQuery);
export const assertGraphQuery = typia.createAssert<GraphQuery>(refuseQuery);
