/** Replays a collection's graph in the plainest way. */
import { u8, u64 } from './bytes.js';
import type { GraphEvent } from './events.js';
import { ABSENT, H } from './hashing.js';
import { Leaves } from './leaves.js';
import { Impossible } from './reading.js';

type Node = Extract<GraphEvent, { type: 'add node' }>;
type Edge = Extract<GraphEvent, { type: 'add edge' }>;

const TREE_NODE = 0x16;
const SIX_ZEROS = new Uint8Array(6);

export class GraphReplay {
  readonly #nodes = new Leaves(TREE_NODE);
  readonly #edges = new Leaves(TREE_NODE);
  /** Existing nodes. */
  readonly #present = new Set<bigint>();
  /** Both ends of existing edges, and of edges that were deleted with a node. */
  readonly #ends = new Map<bigint, readonly [bigint, bigint]>();
  /** Nodes that were linked to a record. */
  readonly #linked = new Map<bigint, bigint[]>();

  get nodes(): number {
    return this.#present.size;
  }

  get edges(): number {
    return [...this.#ends.values()].filter((ends) => this.#hasBoth(ends)).length;
  }

  apply(event: GraphEvent): void {
    switch (event.type) {
      case 'add node':
        this.#addNode(event);
        return;
      case 'delete node':
        if (!this.#present.has(event.nodeId)) throw new Impossible('deletes a node that is not there');
        this.#dropNode(event.nodeId);
        return;
      case 'add edge':
        this.#addEdge(event);
        return;
      case 'delete edge': {
        const ends = this.#ends.get(event.edgeId);
        if (ends === undefined || !this.#hasBoth(ends)) throw new Impossible('deletes an edge that is not there');
        this.#ends.delete(event.edgeId);
        this.#edges.set(Number(event.edgeId) - 1, ABSENT);
      }
    }
  }

  recordDeleted(recordId: bigint): void {
    for (const nodeId of this.#linked.get(recordId) ?? []) if (this.#present.has(nodeId)) this.#dropNode(nodeId);
    this.#linked.delete(recordId);
  }

  /** The root. Edges of a deleted node keep their leaves: the missing leaf of the node shows that they are gone. */
  root(): Uint8Array {
    if (this.#nodes.size === 0) return ABSENT;
    const [nodes, edges] = [BigInt(this.#nodes.size), BigInt(this.#edges.size)];
    return H(u8(0x17), u64(nodes), u64(edges), this.#nodes.hash(), this.#edges.hash());
  }

  #addNode(node: Node): void {
    const { nodeId, recordId } = node;
    if (nodeId !== BigInt(this.#nodes.size) + 1n) throw new Impossible('gives a node id out of order');
    this.#nodes.push(H(u8(0x14), u8(node.kind), SIX_ZEROS, u64(nodeId), u64(recordId)));
    this.#present.add(nodeId);
    if (recordId === 0n) return;
    const linked = this.#linked.get(recordId);
    if (linked === undefined) this.#linked.set(recordId, [nodeId]);
    else linked.push(nodeId);
  }

  #addEdge(edge: Edge): void {
    const { edgeId, from, to } = edge;
    if (edgeId !== BigInt(this.#edges.size) + 1n) throw new Impossible('gives an edge id out of order');
    if (!this.#hasBoth([from, to])) throw new Impossible('adds an edge to a node that is not there');
    this.#edges.push(H(u8(0x15), u8(edge.kind), SIX_ZEROS, u64(edgeId), u64(from), u64(to)));
    this.#ends.set(edgeId, [from, to]);
  }

  #dropNode(nodeId: bigint): void {
    this.#present.delete(nodeId);
    this.#nodes.set(Number(nodeId) - 1, ABSENT);
  }

  #hasBoth([from, to]: readonly [bigint, bigint]): boolean {
    return this.#present.has(from) && this.#present.has(to);
  }
}
