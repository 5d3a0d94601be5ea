/**
 * The graph of a collection, a pure function of its log. `apply` receives every graph event once, in order, and
 * `recordDeleted` every permanently deleted record. Each costs O(log n) hashes and no walk over edges. An edge exists
 * only while both its nodes do; the lists of its nodes drop it later, as they grow.
 *
 * Memory: 64 bytes per node and per edge in its tree, about 40 more per edge, and 90 per node with edges. Ids are never
 * reused, so a deleted node or edge keeps most of its memory.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { Damaged } from '../../shared/log/damaged.js';
import type { AddEdge, AddNode, GraphEvent } from '../../shared/log/event.js';
import { type GraphEdge, type GraphNode, NODE_KINDS } from '../../shared/model/graph.js';
import type { TreeHashes } from '../audit/merkleTree.js';
import { PagedList } from '../kernel/pagedList.js';
import { edgeLeaf, graphRoot, nodeLeaf } from './graphRoot.js';
import { GraphTree } from './graphTree.js';
import { RootHistory } from './rootHistory.js';

/** The kind of a deleted node or edge. */
const GONE = -1;
const NO_IDS: readonly number[] = [];
/**
 * Lengths of lists that are checked for dead ids. A longer list would block the event loop for tens of milliseconds.
 */
const CHECKED_LENGTH_MIN = 32;
const CHECKED_LENGTH_MAX = 1 << 20;

interface RecordNodes {
  readonly ids: number[];
  /** How many of them are not deleted. */
  existing: number;
}

export class Graph {
  readonly #nodeTree = new GraphTree();
  readonly #edgeTree = new GraphTree();
  // Keyed by node id − 1.
  readonly #nodeKinds = new PagedList<number>();
  readonly #recordIds = new PagedList<number | null>();
  readonly #outgoing = new PagedList<number[]>();
  readonly #incoming = new PagedList<number[]>();
  // Keyed by edge id − 1.
  readonly #edgeKinds = new PagedList<number>();
  readonly #from = new PagedList<number>();
  readonly #to = new PagedList<number>();
  /** Nodes of each record, including deleted ones. */
  readonly #nodesOf = new PagedList<RecordNodes>();
  /** Number of nodes by kind. */
  readonly #counts: number[] = NODE_KINDS.map(() => 0);
  /** Earlier roots, for receipts and snapshots. */
  readonly history = new RootHistory();
  #root: Uint8Array | undefined = EMPTY_HASH;
  #changedBy = { sequence: 0, isOfRecord: false };

  /** Newest write that changed the graph, with sequence 0 before the first; and whether it was a write of a record. */
  get changedBy(): { readonly sequence: number; readonly isOfRecord: boolean } {
    return this.#changedBy;
  }

  get nextNodeId(): number {
    return this.#nodeKinds.size + 1;
  }

  get nextEdgeId(): number {
    return this.#edgeKinds.size + 1;
  }

  hasNode(id: number): boolean {
    return (this.#nodeKinds.get(id - 1) ?? GONE) !== GONE;
  }

  node(id: number): GraphNode | undefined {
    if (!this.hasNode(id)) return undefined;
    return { id, kind: this.#nodeKinds.get(id - 1)!, recordId: this.#recordIds.get(id - 1)! };
  }

  edge(id: number): GraphEdge | undefined {
    if (!this.#hasEdge(id)) return undefined;
    return { id, from: this.#from.get(id - 1)!, to: this.#to.get(id - 1)!, kind: this.#edgeKinds.get(id - 1)! };
  }

  /** Counts the nodes of a kind; null for all kinds. */
  countNodes(kind: number | null): number {
    return kind === null ? this.#counts.reduce((sum, count) => sum + count) : this.#counts[kind]!;
  }

  /** Returns the ids of the edges that begin at the node, ascending. They may include deleted ones. */
  outgoing = (nodeId: number): readonly number[] => this.#outgoing.get(nodeId - 1) ?? NO_IDS;

  /** Returns the ids of the edges that end at the node, ascending. They may include deleted ones. */
  incoming = (nodeId: number): readonly number[] => this.#incoming.get(nodeId - 1) ?? NO_IDS;

  /** Returns the ids of the nodes that are linked to the record, ascending. */
  nodesOfRecord(recordId: number): readonly number[] {
    return this.#nodesOf.get(recordId)?.ids.filter((id) => this.hasNode(id)) ?? NO_IDS;
  }

  /** Returns the number of nodes that are linked to the record. */
  countNodesOfRecord(recordId: number): number {
    return this.#nodesOf.get(recordId)?.existing ?? 0;
  }

  /**
   * Returns the root, which is cached until the next change. After a change it costs log2(nodes) + log2(edges) hashes.
   */
  root(): Uint8Array {
    this.#root ??= graphRoot(this.#nodeTree, this.#edgeTree);
    return this.#root;
  }

  /** Returns the root after any write of a record, or after the newest write of the graph. */
  rootAt(sequence: number): Uint8Array {
    return sequence >= this.#changedBy.sequence ? this.root() : this.history.at(sequence);
  }

  /** Returns the edge for a snapshot, even if it was deleted with a node; null if it was deleted itself. */
  snapshotEdge(id: number): GraphEdge | null {
    const kind = this.#edgeKinds.get(id - 1)!;
    return kind === GONE ? null : { id, from: this.#from.get(id - 1)!, to: this.#to.get(id - 1)!, kind };
  }

  /** Adds the next node of a snapshot. All nodes come before the first edge. */
  restoreNode(node: GraphNode | AddNode | null): void {
    const id = this.nextNodeId;
    this.#nodeKinds.set(id - 1, node?.kind ?? GONE);
    this.#recordIds.set(id - 1, node?.recordId ?? null);
    if (node === null) return;
    this.#counts[node.kind]!++;
    this.#linkRecord(node.recordId, id);
  }

  restoreEdge(edge: GraphEdge | AddEdge | null): void {
    const id = this.nextEdgeId;
    this.#edgeKinds.set(id - 1, edge?.kind ?? GONE);
    this.#from.set(id - 1, edge?.from ?? 0);
    this.#to.set(id - 1, edge?.to ?? 0);
    if (edge !== null && this.#hasEdge(id)) this.#linkNodes(edge.from, edge.to, id);
  }

  /** Restores the trees, after nodes, edges and `history`. */
  restoreTrees(nodes: TreeHashes, edges: TreeHashes, changedBy: Graph['changedBy']): void {
    this.#nodeTree.adopt(nodes);
    this.#edgeTree.adopt(edges);
    this.#changedBy = changedBy;
    this.#root = undefined;
  }

  /** Applies an event. Throws Damaged if it cannot follow the earlier ones. The caller checks that a record is live. */
  apply(event: GraphEvent): void {
    switch (event.type) {
      case 'addNode':
        this.#addNode(event);
        return;
      case 'deleteNode':
        if (!this.hasNode(event.nodeId))
          throw new Damaged(`an event deletes node ${event.nodeId}, which does not exist`);
        this.#changing(event.sequence, false);
        this.#forgetNode(event.nodeId);
        this.#nodeTree.clear(event.nodeId);
        return;
      case 'addEdge':
        this.#addEdge(event);
        return;
      case 'deleteEdge':
        if (!this.#hasEdge(event.edgeId))
          throw new Damaged(`an event deletes edge ${event.edgeId}, which does not exist`);
        this.#changing(event.sequence, false);
        this.#edgeKinds.set(event.edgeId - 1, GONE);
        this.#edgeTree.clear(event.edgeId);
        return;
      default:
        unreachable(event);
    }
  }

  /**
   * Deletes the nodes of a record that the write `sequence` deletes permanently, all in this call, at about 40 ns each.
   * Their hashes follow in calls of `hashSome`, or with the next root.
   */
  recordDeleted(recordId: number, sequence: number): void {
    const ids = this.nodesOfRecord(recordId);
    if (ids.length > 0) this.#changing(sequence, true);
    for (const id of ids) this.#forgetNode(id);
    this.#nodeTree.clearLater(ids);
    this.#nodesOf.delete(recordId);
  }

  /**
   * Hashes some nodes that a record's deletion left to hash, for under a millisecond. Returns true if more are left.
   */
  hashSome(): boolean {
    return this.#nodeTree.clearSome();
  }

  #hasEdge(id: number): boolean {
    if ((this.#edgeKinds.get(id - 1) ?? GONE) === GONE) return false;
    return this.hasNode(this.#from.get(id - 1)!) && this.hasNode(this.#to.get(id - 1)!);
  }

  #addNode(event: AddNode): void {
    const { sequence, nodeId } = event;
    if (nodeId !== this.nextNodeId)
      throw new Damaged(`event ${sequence} adds node ${nodeId} where ${this.nextNodeId} is next`);
    this.#changing(sequence, false);
    this.restoreNode(event);
    this.#nodeTree.append(nodeLeaf(event));
  }

  #forgetNode(id: number): void {
    const at = id - 1;
    this.#counts[this.#nodeKinds.get(at)!]!--;
    this.#nodeKinds.set(at, GONE);
    const recordId = this.#recordIds.get(at)!;
    if (recordId !== null) this.#nodesOf.get(recordId)!.existing--;
    this.#outgoing.delete(at);
    this.#incoming.delete(at);
  }

  #addEdge(event: AddEdge): void {
    const { sequence, edgeId, from, to } = event;
    if (edgeId !== this.nextEdgeId)
      throw new Damaged(`event ${sequence} adds edge ${edgeId} where ${this.nextEdgeId} is next`);
    for (const end of [from, to])
      if (!this.hasNode(end)) throw new Damaged(`event ${sequence} adds an edge at node ${end}, which does not exist`);
    this.#changing(sequence, false);
    this.restoreEdge(event);
    this.#edgeTree.append(edgeLeaf(event));
  }

  #linkRecord(recordId: number | null, nodeId: number): void {
    if (recordId === null) return;
    const before = this.#nodesOf.get(recordId);
    const ids = appendId(before?.ids, nodeId, (id) => this.hasNode(id));
    this.#nodesOf.set(recordId, { ids, existing: (before?.existing ?? 0) + 1 });
  }

  #linkNodes(from: number, to: number, edgeId: number): void {
    const exists = (id: number): boolean => this.#hasEdge(id);
    this.#outgoing.set(from - 1, appendId(this.#outgoing.get(from - 1), edgeId, exists));
    this.#incoming.set(to - 1, appendId(this.#incoming.get(to - 1), edgeId, exists));
  }

  /**
   * Prepares a change. Keeps the current root if the receipt of a record's write may need it. So consecutive writes of
   * the graph do not cost a root each.
   */
  #changing(sequence: number, isOfRecord: boolean): void {
    const { sequence: before, isOfRecord: wasOfRecord } = this.#changedBy;
    if (before > 0 && (wasOfRecord || sequence > before + 1)) this.history.add(before, this.root());
    this.#changedBy = { sequence, isOfRecord };
    this.#root = undefined;
  }
}

/**
 * Adds an id to a list, and returns the list, or a shorter copy without dead ids if half are dead. The list is checked
 * when its length has doubled, which costs one step an id on average. It never shrinks in place, since a walk may use
 * it.
 */
function appendId(list: number[] | undefined, id: number, exists: (id: number) => boolean): number[] {
  if (list === undefined) return [id];
  list.push(id);
  const { length } = list;
  if (length < CHECKED_LENGTH_MIN || length > CHECKED_LENGTH_MAX || (length & (length - 1)) !== 0) return list;
  let alive = 0;
  for (const each of list) if (exists(each)) alive++;
  return 2 * alive <= length ? list.filter(exists) : list;
}
