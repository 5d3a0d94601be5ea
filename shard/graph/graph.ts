/**
 * The graph of a collection, a pure function of its log. `apply` receives every graph event once, in order, and
 * `recordDeleted` every permanently deleted record. Each costs O(log n) hashes and no walk over edges. An edge exists
 * only while both its nodes do. The lists of a node drop the ids of dead edges later, when they have grown.
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

  /** The newest write that changed the graph; sequence 0 before the first. `isOfRecord`: the write deleted a record. */
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

  /**
   * Returns the root after the write `sequence`. It must have written a record, or be the newest write of the graph:
   * other roots are not kept.
   */
  rootAt(sequence: number): Uint8Array {
    return sequence >= this.#changedBy.sequence ? this.root() : this.history.at(sequence);
  }

  /**
   * Returns the edge as a snapshot stores it: null if an event deleted the edge. An edge that only lost a node is
   * stored.
   */
  snapshotEdge(id: number): GraphEdge | null {
    const kind = this.#edgeKinds.get(id - 1)!;
    return kind === GONE ? null : { id, from: this.#from.get(id - 1)!, to: this.#to.get(id - 1)!, kind };
  }

  /**
   * Adds the next node, of an event or a snapshot; null for a deleted one. In a snapshot all nodes come before the first
   * edge.
   */
  restoreNode(node: GraphNode | AddNode | null): void {
    const id = this.nextNodeId;
    this.#nodeKinds.set(id - 1, node?.kind ?? GONE);
    this.#recordIds.set(id - 1, node?.recordId ?? null);
    if (node === null) return;
    this.#counts[node.kind]!++;
    this.#linkRecord(node.recordId, id);
  }

  /** Adds the next edge, of an event or a snapshot; null for one that an event deleted. */
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

  /** Applies an event. Throws Damaged if it cannot follow the earlier ones. The caller checks that a node's record is live. */
  apply(event: GraphEvent): void {
    switch (event.type) {
      case 'addNode':
        this.#addNode(event);
        return;
      case 'deleteNode':
        if (!this.hasNode(event.nodeId))
          throw new Damaged(`an event deletes node ${event.nodeId}, which does not exist`);
        this.#beginChange(event.sequence, false);
        this.#forgetNode(event.nodeId);
        this.#nodeTree.clear(event.nodeId);
        return;
      case 'addEdge':
        this.#addEdge(event);
        return;
      case 'deleteEdge':
        if (!this.#hasEdge(event.edgeId))
          throw new Damaged(`an event deletes edge ${event.edgeId}, which does not exist`);
        this.#beginChange(event.sequence, false);
        this.#edgeKinds.set(event.edgeId - 1, GONE);
        this.#edgeTree.clear(event.edgeId);
        return;
      default:
        unreachable(event);
    }
  }

  /**
   * Deletes all nodes of a record, which the write `sequence` deletes permanently. Costs about 40 ns a node. Their
   * leaves are cleared later, by `hashSome` or by the next root.
   */
  recordDeleted(recordId: number, sequence: number): void {
    const ids = this.nodesOfRecord(recordId);
    if (ids.length > 0) this.#beginChange(sequence, true);
    for (const id of ids) this.#forgetNode(id);
    this.#nodeTree.clearLater(ids);
    this.#nodesOf.delete(recordId);
  }

  /** Clears some leaves that `recordDeleted` left, in under a millisecond. Returns true if more are left. */
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
      throw new Damaged(`event ${sequence} adds node ${nodeId}, but the next node is ${this.nextNodeId}`);
    this.#beginChange(sequence, false);
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
      throw new Damaged(`event ${sequence} adds edge ${edgeId}, but the next edge is ${this.nextEdgeId}`);
    for (const end of [from, to])
      if (!this.hasNode(end)) throw new Damaged(`event ${sequence} adds an edge at node ${end}, which does not exist`);
    this.#beginChange(sequence, false);
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
   * Begins a change of the graph. Keeps the current root if the receipt of a record's write needs it. It does if a
   * record was written after the last change, or if that change deleted one. Consecutive writes of the graph keep no
   * roots.
   */
  #beginChange(sequence: number, isOfRecord: boolean): void {
    const { sequence: before, isOfRecord: wasOfRecord } = this.#changedBy;
    if (before > 0 && (wasOfRecord || sequence > before + 1)) this.history.add(before, this.root());
    this.#changedBy = { sequence, isOfRecord };
    this.#root = undefined;
  }
}

/**
 * Adds an id and returns the list. If at least half of the ids are dead, returns a copy without them. The list never
 * shrinks in place, since a walk may use it. The ids are checked whenever the length has doubled, which costs one step
 * an id on average.
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
