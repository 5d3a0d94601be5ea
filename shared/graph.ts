/**
 * The graph of a collection: nodes, which may be linked to a record, and edges between them. What a coordinator asks of
 * it, and what it is answered.
 */
import type { Whole } from './whole.js';

/** A kind is an index into these. */
export const NODE_KINDS = ['Record', 'Concept', 'Agent', 'User', 'Tool', 'Document', 'Chunk'] as const;
export const EDGE_KINDS = [
  'Relation',
  'Follows',
  'InEpisode',
  'ByAgent',
  'Mentions',
  'RefersTo',
  'ParentOf',
  'Supersedes',
  'Contradicts',
] as const;

/** Which way edges are followed. */
export type Direction = 'outgoing' | 'incoming' | 'both';

export interface GraphNode {
  readonly id: number;
  readonly kind: number;
  readonly recordId: number | null;
}

export interface GraphEdge {
  readonly id: number;
  readonly from: number;
  readonly to: number;
  readonly kind: number;
}

export interface GraphHit extends GraphNode {
  /** Hops from the start. */
  readonly depth: number;
}

/** Nodes and edges of one answer, at most. */
export const GRAPH_PAGE_MAX = 10_000;

/** All that name a node throw `not_found` where it is not there. */
export type GraphRead =
  | { readonly op: 'graphNode'; readonly id: Whole }
  /** By id. `kind` null: of every kind. */
  | { readonly op: 'graphNodes'; readonly kind: Whole | null; readonly offset: Whole; readonly limit: Whole }
  /** Outgoing, by id. `limit` null: all; throws `validation_error` where they are more than `GRAPH_PAGE_MAX`. */
  | { readonly op: 'graphEdges'; readonly id: Whole; readonly offset: Whole; readonly limit: Whole | null }
  /**
   * What can be reached from `root` over at most `depth` outgoing edges, by depth then id, and every edge between
   * these nodes, by id. Throws `validation_error` where that is more than `GRAPH_PAGE_MAX` of either.
   */
  | { readonly op: 'graphSubgraph'; readonly root: Whole; readonly depth: Whole }
  /**
   * What can be reached from `start`, itself included, over edges of one kind or any: those of one kind or any, by depth
   * then id.
   */
  | {
      readonly op: 'graphQuery';
      readonly start: Whole;
      readonly direction: Direction;
      readonly edgeKind: Whole | null;
      readonly nodeKind: Whole | null;
      readonly depth: Whole;
      readonly limit: Whole;
    };

export type GraphWrite =
  /** Throws `record_not_found` where the record is not live. */
  | { readonly op: 'addNode'; readonly kind: Whole; readonly recordId: Whole | null }
  /** Its edges go too. Throws `not_found`. */
  | { readonly op: 'deleteNode'; readonly id: Whole }
  /** Throws `not_found` where an end is not there. */
  | { readonly op: 'addEdge'; readonly from: Whole; readonly to: Whole; readonly kind: Whole }
  /** Throws `not_found`. */
  | { readonly op: 'deleteEdge'; readonly id: Whole };

interface Added {
  readonly id: number;
  readonly sequence: number;
}

export interface GraphResults {
  graphNode: GraphNode;
  /** `count`: of all pages. */
  graphNodes: { readonly nodes: readonly GraphNode[]; readonly count: number };
  graphEdges: { readonly edges: readonly GraphEdge[] };
  graphSubgraph: { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] };
  /** `count`: of all hits, those beyond the limit included. */
  graphQuery: { readonly hits: readonly GraphHit[]; readonly count: number };
  addNode: Added;
  deleteNode: { readonly sequence: number };
  addEdge: Added;
  deleteEdge: { readonly sequence: number };
}
