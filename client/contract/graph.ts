/** Made from coordinator/contract/graph.ts by `npm run docs`. */

export interface CreateNodeRequest {
  /** 0 Record, 1 Concept, 2 Agent, 3 User, 4 Tool, 5 Document, 6 Chunk. */
  kind: number;
  /** The record that the node stands for. A hard delete of the record deletes the node. */
  recordId?: number | null;
  collection?: string | null;
}

export interface CreateEdgeRequest {
  from: number;
  to: number;
  /** 0 Relation, 1 Follows, 2 InEpisode, 3 ByAgent, 4 Mentions, 5 RefersTo, 6 ParentOf, 7 Supersedes, 8 Contradicts. */
  kind: number;
  collection?: string | null;
}

export interface CreateNodeResponse {
  nodeId: number;
  /** In cluster mode: the sequence of the write in the collection's log. */
  logIndex?: number;
}

export interface CreateEdgeResponse {
  edgeId: number;
  logIndex?: number;
}

export interface NodeResponse {
  nodeId: number;
  kind: number;
  recordId: number | null;
  /** The collection's id. */
  namespaceId: number;
}

export interface NodesQuery {
  collection?: string;
  kind?: number;
  /** Default 0. */
  offset?: number;
  /** Default 100. */
  limit?: number;
}

export interface NodesResponse {
  /** In order of ids. */
  nodes: NodeResponse[];
  /** The number of nodes on all pages. */
  count: number;
}

export interface EdgesQuery {
  collection?: string;
  offset?: number;
  /** Omitted: all edges, up to the greatest limit. */
  limit?: number;
}

export interface EdgesResponse {
  /** In order of ids. */
  edges: {
    edgeId: number;
    toNode: number;
    kind: number;
  }[];
}

export interface SubgraphQuery {
  collection?: string;
  root: number;
  depth?: number;
}

export interface SubgraphResponse {
  /** The root and the nodes that its outgoing edges lead to; by depth, then by id. */
  nodes: {
    id: number;
    kind: number;
    record: number | null;
  }[];
  /** All edges between these nodes, by id. */
  edges: {
    id: number;
    from: number;
    to: number;
    kind: number;
  }[];
}

export interface GraphQuery {
  collection?: string;
  start: number;
  /** Default `outgoing`. */
  direction?: 'outgoing' | 'incoming' | 'both';
  /** Only edges of this kind are followed. */
  edgeKind?: number;
  /** Only nodes of this kind are hits; the walk passes nodes of any kind. */
  nodeKind?: number;
  /** Default 2. */
  depth?: number;
  /** Default 100. */
  limit?: number;
}

export interface GraphQueryResponse {
  /** By depth, then by id. The start is a hit at depth 0. */
  hits: {
    nodeId: number;
    kind: number;
    recordId: number | null;
    depth: number;
  }[];
  /** The number of hits, including those beyond the limit. */
  count: number;
}
