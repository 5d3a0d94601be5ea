/** Graph, proof and timeline requests. Their answers come with the features themselves. */
import typia, { type tags } from 'typia';
import { refuseBody, refuseQuery } from './refusal.js';
import type { Whole } from './values.js';

export type NodeKind = number & tags.Type<'uint32'> & tags.Maximum<6>;
export type EdgeKind = number & tags.Type<'uint32'> & tags.Maximum<8>;
type Depth = number & tags.Type<'uint32'> & tags.Maximum<4>;

export interface CreateNodeRequest {
  /** 0 Record, 1 Concept, 2 Agent, 3 User, 4 Tool, 5 Document, 6 Chunk. */
  kind: NodeKind;
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

export interface NodesQuery {
  collection?: string;
  kind?: NodeKind;
  offset?: Whole;
  limit?: Whole;
}

export interface SubgraphQuery {
  collection?: string;
  root: Whole;
  depth?: Depth;
}

export interface GraphQuery {
  collection?: string;
  start: Whole;
  direction?: 'outgoing' | 'incoming' | 'both';
  edge_kind?: EdgeKind;
  node_kind?: NodeKind;
  depth?: Depth;
  limit?: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<1000>;
}

export interface ReceiptQuery {
  collection?: string;
  sequence: Whole;
}

export interface ConsistencyQuery {
  collection?: string;
  from: Whole;
  to: Whole;
}

export interface TimelineQuery {
  collection?: string;
  from?: string;
  to?: string;
  limit?: Whole;
  after?: Whole;
}

export const assertCreateNode = typia.createAssert<CreateNodeRequest>(refuseBody);
export const assertCreateEdge = typia.createAssert<CreateEdgeRequest>(refuseBody);
export const assertNodesQuery = typia.http.createAssertQuery<NodesQuery>(refuseQuery);
export const assertSubgraphQuery = typia.http.createAssertQuery<SubgraphQuery>(refuseQuery);
export const assertGraphQuery = typia.http.createAssertQuery<GraphQuery>(refuseQuery);
export const assertReceiptQuery = typia.http.createAssertQuery<ReceiptQuery>(refuseQuery);
export const assertConsistencyQuery = typia.http.createAssertQuery<ConsistencyQuery>(refuseQuery);
export const assertTimelineQuery = typia.http.createAssertQuery<TimelineQuery>(refuseQuery);
