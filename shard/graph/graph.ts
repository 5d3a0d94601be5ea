/**
 * The graph of a collection, as a pure function of its log: `apply` is given every graph event once, in order, and
 * `recordDeleted` every record that is deleted for good. Each costs O(log n) hashes and no walk over edges: what hung on
 * a node that is gone is told by that, and leaves the lists of its neighbours as they grow.
 *
 * Memory: 64 bytes in its tree for a node or an edge, and beside it some 40 for an edge and 90 for a node that has edges.
 * Ids are never reused, so what is deleted leaves most of that behind.
 */
import { unreachable } from '../../shared/errors.js';
import { type GraphEdge, type GraphNode, NODE_KINDS } from '../../shared/graph.js';
import { EMPTY_HASH } from '../../shared/hash.js';
import type { AddEdge, AddNode, GraphEvent } from '../../shared/log/event.js';
import type { TreeHashes } from '../audit/merkleTree.js';
import { Damaged } from '../collection/damaged.js';
import { edgeLeaf, graphRoot, nodeLeaf } from './graphRoot.js';
import { GraphTree } from './graphTree.js';
import { appendId } from './idList.js';
import { RootHistory } from './rootHistory.js';

/** The kind of what was deleted. */
const GONE = -1;
const NO_IDS: readonly number[] = [];

export class Graph {
  readonly #nodeTree = new GraphTree();
  readonly #edgeTree = new GraphTree();
  // By node id − 1.
  readonly #nodeKinds: number[] = [];
  readonly #recordIds: (number | null)[] = [];
  readonly #outgoing: (number[] | undefined)[] = [];
  readonly #incoming: (number[] | undefined)[] = [];
  // By edge id − 1.
  readonly #edgeKinds: number[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  /** By record id. */
  readonly #nodesOf = new Map<number, number[]>();
  /** Nodes there are, by kind. */
  readonly #counts: number[] = NODE_KINDS.map(() => 0);
  readonly #history = new RootHistory();
  #root: Uint8Array | undefined = EMPTY_HASH;
  /** The newest write that changed the graph, and whether it was one of a record. */
  #changedBy = { sequence: 0, isOfRecord: false };

  /** Sequence of the newest write that changed it; 0: none has. */
  get changedAt(): number {
    return this.#changedBy.sequence;
  }

  get nextNodeId(): number {
    return this.#nodeKinds.length + 1;
  }

  get nextEdgeId(): number {
    return this.#edgeKinds.length + 1;
  }

  hasNode(id: number): boolean {
    return (this.#nodeKinds[id - 1] ?? GONE) !== GONE;
  }

  node(id: number): GraphNode | undefined {
    if (!this.hasNode(id)) return undefined;
    return { id, kind: this.#nodeKinds[id - 1]!, recordId: this.#recordIds[id - 1]! };
  }

  edge(id: number): GraphEdge | undefined {
    if (!this.#hasEdge(id)) return undefined;
    return { id, from: this.#from[id - 1]!, to: this.#to[id - 1]!, kind: this.#edgeKinds[id - 1]! };
  }

  /** `kind` null: of all kinds. */
  countNodes(kind: number | null): number {
    return kind === null ? this.#counts.reduce((sum, count) => sum + count) : this.#counts[kind]!;
  }

  /** Ids of the edges that begin at the node, ascending; those that are gone may be among them. */
  outgoing = (nodeId: number): readonly number[] => this.#outgoing[nodeId - 1] ?? NO_IDS;

  /** The same for the edges that end there. */
  incoming = (nodeId: number): readonly number[] => this.#incoming[nodeId - 1] ?? NO_IDS;

  /** Ids of the nodes that are linked to the record, ascending. */
  nodesOf(recordId: number): readonly number[] {
    const ids = this.#nodesOf.get(recordId);
    return ids === undefined ? NO_IDS : ids.filter((id) => this.hasNode(id));
  }

  /** Kept until the next change. Costs log2 of nodes and of edges in hashes after each. */
  root(): Uint8Array {
    this.#root ??= graphRoot(this.#nodeTree, this.#edgeTree);
    return this.#root;
  }

  /** The root after a write of a record, however long ago. Of writes of the graph it knows only the newest. */
  rootAt(sequence: number): Uint8Array {
    return sequence >= this.#changedBy.sequence ? this.root() : this.#history.at(sequence);
  }

  /** Of an id that was given: null, where what had it was deleted. */
  nodeGiven(id: number): GraphNode | null {
    return this.node(id) ?? null;
  }

  /** The same for an edge; one that went with a node counts as there. */
  edgeGiven(id: number): GraphEdge | null {
    const kind = this.#edgeKinds[id - 1]!;
    return kind === GONE ? null : { id, from: this.#from[id - 1]!, to: this.#to[id - 1]!, kind };
  }

  /** Roots there once were, for a snapshot. */
  get history(): RootHistory {
    return this.#history;
  }

  get changedBy(): { readonly sequence: number; readonly isOfRecord: boolean } {
    return this.#changedBy;
  }

  /** The next node of a graph that comes from a snapshot: as `nodeGiven`. All nodes come before the first edge. */
  restoreNode(node: GraphNode | null): void {
    const id = this.nextNodeId;
    this.#nodeKinds.push(node?.kind ?? GONE);
    this.#recordIds.push(node?.recordId ?? null);
    if (node === null) return;
    this.#counts[node.kind]!++;
    if (node.recordId !== null)
      this.#nodesOf.set(
        node.recordId,
        appendId(this.#nodesOf.get(node.recordId), id, () => true),
      );
  }

  restoreEdge(edge: GraphEdge | null): void {
    const id = this.nextEdgeId;
    this.#edgeKinds.push(edge?.kind ?? GONE);
    this.#from.push(edge?.from ?? 0);
    this.#to.push(edge?.to ?? 0);
    if (edge === null || !this.#hasEdge(id)) return;
    this.#outgoing[edge.from - 1] = appendId(this.#outgoing[edge.from - 1], id, () => true);
    this.#incoming[edge.to - 1] = appendId(this.#incoming[edge.to - 1], id, () => true);
  }

  /** After nodes, edges and `history`. */
  restoreTrees(nodes: TreeHashes, edges: TreeHashes, changedBy: Graph['changedBy']): void {
    this.#nodeTree.adopt(nodes);
    this.#edgeTree.adopt(edges);
    this.#changedBy = changedBy;
    this.#root = undefined;
  }

  /** Throws Damaged where the event cannot follow the ones before it. That a record is live is for the caller to see. */
  apply(event: GraphEvent): void {
    switch (event.type) {
      case 'addNode':
        this.#addNode(event);
        return;
      case 'deleteNode':
        if (!this.hasNode(event.nodeId)) throw new Damaged(`an event deletes node ${event.nodeId}, which is not there`);
        this.#changing(event.sequence, false);
        this.#deleteNode(event.nodeId);
        return;
      case 'addEdge':
        this.#addEdge(event);
        return;
      case 'deleteEdge':
        if (!this.#hasEdge(event.edgeId))
          throw new Damaged(`an event deletes edge ${event.edgeId}, which is not there`);
        this.#changing(event.sequence, false);
        this.#edgeKinds[event.edgeId - 1] = GONE;
        this.#edgeTree.clear(event.edgeId);
        return;
      default:
        unreachable(event);
    }
  }

  /**
   * The write `sequence` deletes the record for good: its nodes go, all in this step, at some 20 ns each. The hashes follow,
   * in steps of `settleSome` or when the root is asked for.
   */
  recordDeleted(recordId: number, sequence: number): void {
    const ids = this.nodesOf(recordId);
    if (ids.length > 0) this.#changing(sequence, true);
    for (const id of ids) this.#forgetNode(id);
    this.#nodeTree.clearLater(ids);
    this.#nodesOf.delete(recordId);
  }

  /** Hashes a little of what a record's deletion has left to be hashed, for under a millisecond; true where there is more. */
  settleSome(): boolean {
    return this.#nodeTree.clearSome();
  }

  #hasEdge(id: number): boolean {
    if ((this.#edgeKinds[id - 1] ?? GONE) === GONE) return false;
    return this.hasNode(this.#from[id - 1]!) && this.hasNode(this.#to[id - 1]!);
  }

  #addNode(event: AddNode): void {
    const { sequence, nodeId, recordId, kind } = event;
    if (nodeId !== this.nextNodeId)
      throw new Damaged(`event ${sequence} adds node ${nodeId} where ${this.nextNodeId} is next`);
    this.#changing(sequence, false);
    this.#nodeKinds.push(kind);
    this.#recordIds.push(recordId);
    this.#counts[kind]!++;
    if (recordId !== null)
      this.#nodesOf.set(
        recordId,
        appendId(this.#nodesOf.get(recordId), nodeId, (id) => this.hasNode(id)),
      );
    this.#nodeTree.append(nodeLeaf(event));
  }

  #deleteNode(id: number): void {
    this.#forgetNode(id);
    this.#nodeTree.clear(id);
  }

  #forgetNode(id: number): void {
    const at = id - 1;
    this.#counts[this.#nodeKinds[at]!]!--;
    this.#nodeKinds[at] = GONE;
    // A list that is not there must not be made, and beyond the end of the arrays there is none.
    if (at < this.#outgoing.length && this.#outgoing[at] !== undefined) this.#outgoing[at] = undefined;
    if (at < this.#incoming.length && this.#incoming[at] !== undefined) this.#incoming[at] = undefined;
  }

  #addEdge(event: AddEdge): void {
    const { sequence, edgeId, from, to, kind } = event;
    if (edgeId !== this.nextEdgeId)
      throw new Damaged(`event ${sequence} adds edge ${edgeId} where ${this.nextEdgeId} is next`);
    for (const end of [from, to])
      if (!this.hasNode(end)) throw new Damaged(`event ${sequence} adds an edge at node ${end}, which is not there`);
    this.#changing(sequence, false);
    this.#edgeKinds.push(kind);
    this.#from.push(from);
    this.#to.push(to);
    const isThere = (id: number): boolean => this.#hasEdge(id);
    this.#outgoing[from - 1] = appendId(this.#outgoing[from - 1], edgeId, isThere);
    this.#incoming[to - 1] = appendId(this.#incoming[to - 1], edgeId, isThere);
    this.#edgeTree.append(edgeLeaf(event));
  }

  /**
   * Comes before each change. The root until now is kept where a write of a record has seen it, since only receipts of
   * these will ask for it: writes of the graph that follow one another cost no root each.
   */
  #changing(sequence: number, isOfRecord: boolean): void {
    const { sequence: before, isOfRecord: wasOfRecord } = this.#changedBy;
    if (before > 0 && (wasOfRecord || sequence > before + 1)) this.#history.add(before, this.root());
    this.#changedBy = { sequence, isOfRecord };
    this.#root = undefined;
  }
}
