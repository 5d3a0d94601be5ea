/** The graph's part of a frame's plan. Each write is checked against the graph after the earlier writes. */
import { refusal, unreachable, VouchError } from '../../shared/errors/errors.js';
import type { GraphEvent, Undated } from '../../shared/log/event.js';
import {
  EDGE_KINDS,
  type GraphEdge,
  type GraphNode,
  type GraphWrite,
  NODE_KINDS,
  NODES_OF_RECORD_MAX,
} from '../../shared/model/graph.js';
import type { Graph } from './graph.js';

export type PlannedGraphEvent = Undated<GraphEvent>;

/** A write whose record is found. */
export type PlannedGraphWrite =
  | Exclude<GraphWrite, { op: 'addNode' }>
  | { readonly op: 'addNode'; readonly kind: number; readonly recordId: number | null };

export class GraphPlan {
  readonly #nodes = new Map<number, GraphNode>();
  readonly #edges = new Map<number, GraphEdge>();
  /** Record id → number of nodes that the plan adds to it. */
  readonly #added = new Map<number, number>();
  readonly #deletedNodes = new Set<number>();
  readonly #deletedEdges = new Set<number>();

  /** `isDeleted`: whether the plan so far permanently deletes the record. */
  constructor(
    private readonly graph: Graph,
    private readonly isDeleted: (recordId: number) => boolean,
  ) {}

  /**
   * Plans a write. Throws `not_found`, and `validation_error` for an unknown kind. The caller checks that the record of
   * a new node is live.
   */
  add(call: PlannedGraphWrite): PlannedGraphEvent {
    switch (call.op) {
      case 'addNode': {
        const { kind, recordId } = call;
        assertKind(kind, NODE_KINDS, 'node');
        if (recordId !== null) this.#countNode(recordId);
        const nodeId = this.graph.nextNodeId + this.#nodes.size;
        this.#nodes.set(nodeId, { id: nodeId, kind, recordId });
        return { type: 'addNode', nodeId, recordId, kind };
      }
      case 'deleteNode':
        this.#assertNode(call.id);
        this.#deletedNodes.add(call.id);
        return { type: 'deleteNode', nodeId: call.id };
      case 'addEdge': {
        const { from, to, kind } = call;
        assertKind(kind, EDGE_KINDS, 'edge');
        this.#assertNode(from);
        this.#assertNode(to);
        const edgeId = this.graph.nextEdgeId + this.#edges.size;
        this.#edges.set(edgeId, { id: edgeId, from, to, kind });
        return { type: 'addEdge', edgeId, from, to, kind };
      }
      case 'deleteEdge':
        if (!this.#hasEdge(call.id)) throw missingEdge(call.id);
        this.#deletedEdges.add(call.id);
        return { type: 'deleteEdge', edgeId: call.id };
      default:
        return unreachable(call);
    }
  }

  /** Counts a new node of a record. Nodes that this plan deletes free their places only in the next frame. */
  #countNode(recordId: number): void {
    const added = this.#added.get(recordId) ?? 0;
    if (this.graph.countNodesOfRecord(recordId) + added >= NODES_OF_RECORD_MAX)
      throw new VouchError(
        'validation_error',
        `record ${recordId} has ${NODES_OF_RECORD_MAX} nodes in the graph, the most that a record may have`,
      );
    this.#added.set(recordId, added + 1);
  }

  #assertNode(id: number): void {
    if (!this.#hasNode(id)) throw missingNode(id);
  }

  #hasNode(id: number): boolean {
    const node = this.#nodes.get(id) ?? this.graph.node(id);
    if (node === undefined || this.#deletedNodes.has(id)) return false;
    return node.recordId === null || !this.isDeleted(node.recordId);
  }

  #hasEdge(id: number): boolean {
    const edge = this.#edges.get(id) ?? this.graph.edge(id);
    return edge !== undefined && !this.#deletedEdges.has(id) && this.#hasNode(edge.from) && this.#hasNode(edge.to);
  }
}

/** Throws `validation_error` for an unknown kind, which no event can contain: it would fail the whole commit. */
function assertKind(kind: number, kinds: readonly string[], what: string): void {
  if (kinds[kind] === undefined)
    throw new VouchError('validation_error', `${what} kind ${kind} is not known; kinds are 0 to ${kinds.length - 1}`);
}

export const missingNode = (id: number): VouchError => refusal('not_found', 'node', { id });
const missingEdge = (id: number): VouchError => refusal('not_found', 'edge', { id });
