/** Requests and answers about the graph. */
import typia, { type tags } from 'typia';
import type { GRAPH_PAGE_MAX } from '../../shared/graph.js';
import { refuseBody, refuseQuery } from './refusal.js';
import type { Whole } from './values.js';

export type NodeKind = number & tags.Type<'uint32'> & tags.Maximum<6>;
export type EdgeKind = number & tags.Type<'uint32'> & tags.Maximum<8>;
type Depth = number & tags.Type<'uint32'> & tags.Maximum<4>;
type PageLimit = number & tags.Type<'uint32'> & tags.Maximum<typeof GRAPH_PAGE_MAX>;

export interface CreateNodeRequest {
  /** 0 Record, 1 Concept, 2 Agent, 3 User, 4 Tool, 5 Document, 6 Chunk. */
  kind: NodeKind;
  /** The record it stands for; deleting that for good deletes the node. */
  record_id?: Whole | null;
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
  node_id: number;
  /** In cluster mode: the write's number in the collection's log. */
  log_index?: number;
}

export interface CreateEdgeResponse {
  edge_id: number;
  log_index?: number;
}

export interface NodeResponse {
  node_id: number;
  kind: number;
  record_id: number | null;
  /** The collection's id. */
  namespace_id: number;
}

export interface NodesQuery {
  collection?: string;
  kind?: NodeKind;
  /** 0 where it is omitted. */
  offset?: Whole;
  /** 100 where it is omitted. */
  limit?: PageLimit;
}

export interface NodesResponse {
  /** By id. */
  nodes: NodeResponse[];
  /** Of all pages. */
  count: number;
}

export interface EdgesQuery {
  collection?: string;
  offset?: Whole;
  /** Omitted: all, unless they are more than the limit may be. */
  limit?: PageLimit;
}

export interface EdgesResponse {
  /** By id. */
  edges: { edge_id: number; to_node: number; kind: number }[];
}

export interface SubgraphQuery {
  collection?: string;
  root: Whole;
  depth?: Depth;
}

export interface SubgraphResponse {
  /** What outgoing edges lead to from the root, itself included; by depth, then by id. */
  nodes: { id: number; kind: number; record: number | null }[];
  /** All between these nodes, by id. */
  edges: { id: number; from: number; to: number; kind: number }[];
}

export interface GraphQuery {
  collection?: string;
  start: Whole;
  /** `outgoing` where it is omitted. */
  direction?: 'outgoing' | 'incoming' | 'both';
  /** Only edges of this kind are followed. */
  edge_kind?: EdgeKind;
  /** Only nodes of this kind are hits; the way may lead over others. */
  node_kind?: NodeKind;
  /** 2 where it is omitted. */
  depth?: Depth;
  /** 100 where it is omitted. */
  limit?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<1000>;
}

export interface GraphQueryResponse {
  /** The start is one of them, at depth 0. By depth, then by id. */
  hits: { node_id: number; kind: number; record_id: number | null; depth: number }[];
  /** Those beyond the limit included. */
  count: number;
}

export const assertCreateNode = typia.createAssert<CreateNodeRequest>(refuseBody);
export const assertCreateEdge = typia.createAssert<CreateEdgeRequest>(refuseBody);
export const assertNodesQuery = typia.http.createAssertQuery<NodesQuery>(refuseQuery);
export const assertEdgesQuery = typia.http.createAssertQuery<EdgesQuery>(refuseQuery);
export const assertSubgraphQuery = typia.http.createAssertQuery<SubgraphQuery>(refuseQuery);
export const assertGraphQuery = typia.http.createAssertQuery<GraphQuery>(refuseQuery);
