/** The graph of a collection: nodes, each perhaps with a record, edges between them, and the calls about them. */
import type { RecordName } from './recordName.js';
import type { Whole } from './whole.js';

/** The names of the kinds: a kind is an index into its list. */
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

/** The direction in which edges are followed. */
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

/** Largest number of nodes in an answer, and of edges. */
export const GRAPH_PAGE_MAX = 10_000;

/** Largest number of nodes of one record: they are deleted with it in one turn, in less than 10 ms. */
export const NODES_OF_RECORD_MAX = 100_000;

/** A read of a node that does not exist throws `not_found`. */
export type GraphRead =
  | { readonly op: 'graphNode'; readonly id: Whole }
  /** Returns nodes in the order of their ids. `kind` null: of every kind; `of`: only nodes of the record, which may be missing. */
  | {
      readonly op: 'graphNodes';
      readonly kind: Whole | null;
      readonly of?: RecordName;
      readonly offset: Whole;
      readonly limit: Whole;
    }
  /** Returns outgoing edges by id. `limit` null: all; throws `validation_error` for more than `GRAPH_PAGE_MAX`. */
  | { readonly op: 'graphEdges'; readonly id: Whole; readonly offset: Whole; readonly limit: Whole | null }
  /**
   * Returns the nodes within `depth` outgoing edges of `root`, by depth then id, and all edges between them, by id. Throws
   * `validation_error` for more than `GRAPH_PAGE_MAX` of either.
   */
  | { readonly op: 'graphSubgraph'; readonly root: Whole; readonly depth: Whole }
  /** Returns the nodes within `depth` edges of `start`, with `start`, by depth then id. A null kind matches any. */
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
  /** Throws `record_not_found` if the record is not live, `validation_error` if it has `NODES_OF_RECORD_MAX` nodes. */
  | { readonly op: 'addNode'; readonly kind: Whole; readonly recordId: RecordName | null }
  /** Deletes the node's edges too. Throws `not_found`. */
  | { readonly op: 'deleteNode'; readonly id: Whole }
  /** Throws `not_found` if one of its nodes does not exist. */
  | { readonly op: 'addEdge'; readonly from: Whole; readonly to: Whole; readonly kind: Whole }
  /** Throws `not_found`. */
  | { readonly op: 'deleteEdge'; readonly id: Whole };

interface Added {
  readonly id: number;
  readonly sequence: number;
}

export interface GraphResults {
  graphNode: GraphNode;
  /** `count`: the nodes of all pages. */
  graphNodes: { readonly nodes: readonly GraphNode[]; readonly count: number };
  graphEdges: { readonly edges: readonly GraphEdge[] };
  graphSubgraph: { readonly nodes: readonly GraphNode[]; readonly edges: readonly GraphEdge[] };
  /** `count`: all hits, also those beyond the limit. */
  graphQuery: { readonly hits: readonly GraphHit[]; readonly count: number };
  addNode: Added;
  deleteNode: { readonly sequence: number };
  addEdge: Added;
  deleteEdge: { readonly sequence: number };
}
