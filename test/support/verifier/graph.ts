/** A collection's graph, replayed in the plainest way. */
import { ABSENT, H, u8, u64 } from '../../../scripts/verifier/hashing.js';
import { treeHash } from '../../../scripts/verifier/tree.js';
import type { GraphEvent } from './events.js';

type Node = Extract<GraphEvent, { type: 'add node' }>;
type Edge = Extract<GraphEvent, { type: 'add edge' }>;

const TREE_NODE = 0x16;

export class GraphReplay {
  // At index id − 1.
  readonly #nodes: (Node | 'deleted')[] = [];
  readonly #edges: (Edge | 'deleted')[] = [];

  apply(event: GraphEvent, what: string): void {
    switch (event.type) {
      case 'add node':
        if (event.nodeId !== BigInt(this.#nodes.length) + 1n) throw new Error(`${what} gives a node id out of order`);
        this.#nodes.push(event);
        return;
      case 'delete node':
        if (!this.#hasNode(event.nodeId)) throw new Error(`${what} deletes a node that is not there`);
        this.#nodes[Number(event.nodeId) - 1] = 'deleted';
        return;
      case 'add edge':
        if (event.edgeId !== BigInt(this.#edges.length) + 1n) throw new Error(`${what} gives an edge id out of order`);
        if (!this.#hasNode(event.from) || !this.#hasNode(event.to)) throw new Error(`${what} adds an edge to nowhere`);
        this.#edges.push(event);
        return;
      case 'delete edge': {
        const edge = this.#edges[Number(event.edgeId) - 1];
        if (edge === undefined || edge === 'deleted' || !this.#hasNode(edge.from) || !this.#hasNode(edge.to))
          throw new Error(`${what} deletes an edge that is not there`);
        this.#edges[Number(event.edgeId) - 1] = 'deleted';
      }
    }
  }

  recordDeleted(recordId: bigint): void {
    for (const [index, node] of this.#nodes.entries())
      if (node !== 'deleted' && node.recordId === recordId) this.#nodes[index] = 'deleted';
  }

  /** The edges of a deleted node keep their leaves: they are told by the missing leaf of the node. */
  root(): Buffer {
    if (this.#nodes.length === 0) return ABSENT;
    return H(
      u8(0x17),
      u64(BigInt(this.#nodes.length)),
      u64(BigInt(this.#edges.length)),
      treeHash(this.#nodes.map(nodeLeaf), TREE_NODE),
      treeHash(this.#edges.map(edgeLeaf), TREE_NODE),
    );
  }

  #hasNode(id: bigint): boolean {
    const node = this.#nodes[Number(id) - 1];
    return node !== undefined && node !== 'deleted';
  }
}

const nodeLeaf = (node: Node | 'deleted'): Buffer =>
  node === 'deleted' ? ABSENT : H(u8(0x14), u8(node.kind), Buffer.alloc(6), u64(node.nodeId), u64(node.recordId));

const edgeLeaf = (edge: Edge | 'deleted'): Buffer =>
  edge === 'deleted'
    ? ABSENT
    : H(u8(0x15), u8(edge.kind), Buffer.alloc(6), u64(edge.edgeId), u64(edge.from), u64(edge.to));
