/**
 * The hashes of a graph: two Merkle trees with the shape of the state tree, and a root over both. One tree is over all
 * node ids ever given, the other over all edge ids.
 *
 * The leaf of a deleted node or edge is empty. An edge that was deleted with a node keeps its leaf. So an edge exists
 * if its own leaf and those of both its nodes are not empty. A node is deleted in O(log n) hashes, with any number of
 * edges.
 */
import { DOMAIN, EMPTY_HASH, hash } from '../../shared/hashing/hash.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';
import type { AddEdge, AddNode, EventHeader } from '../../shared/log/event.js';
import { nodeHasher } from '../audit/merkleNode.js';
import type { MerkleTree } from '../audit/merkleTree.js';

const nodeMessage = new Uint8Array(24);
const nodeView = new DataView(nodeMessage.buffer);
nodeMessage[0] = DOMAIN.graphNode;

/** Returns H(0x14 ‖ u8 kind ‖ 6 zeros ‖ u64 node id ‖ u64 record id, 0 for none). */
export function nodeLeaf({ nodeId, recordId, kind }: Omit<AddNode, 'type' | EventHeader>): Uint8Array {
  nodeMessage[1] = kind;
  writeU64(nodeView, 8, nodeId);
  writeU64(nodeView, 16, recordId ?? 0);
  return hash(nodeMessage);
}

const edgeMessage = new Uint8Array(32);
const edgeView = new DataView(edgeMessage.buffer);
edgeMessage[0] = DOMAIN.graphEdge;

/** Returns H(0x15 ‖ u8 kind ‖ 6 zeros ‖ u64 edge id ‖ u64 from ‖ u64 to). */
export function edgeLeaf({ edgeId, from, to, kind }: Omit<AddEdge, 'type' | EventHeader>): Uint8Array {
  edgeMessage[1] = kind;
  writeU64(edgeView, 8, edgeId);
  writeU64(edgeView, 16, from);
  writeU64(edgeView, 24, to);
  return hash(edgeMessage);
}

/** Returns H(0x16 ‖ left ‖ right), or the empty hash if both are empty. */
export const hashGraphTreeNode = nodeHasher(DOMAIN.graphTreeNode);

const TREES_AT = 17;
const rootMessage = new Uint8Array(TREES_AT + 2 * HASH_BYTES);
const rootView = new DataView(rootMessage.buffer);
rootMessage[0] = DOMAIN.graphRoot;

/**
 * Returns the root of a graph, empty before the first node:
 *
 * ```text
 * H(0x17 ‖ u64 number of node ids ‖ u64 number of edge ids ‖ hash of the node tree ‖ hash of the edge tree)
 * ```
 */
export function graphRoot(nodes: MerkleTree, edges: MerkleTree): Uint8Array {
  if (nodes.size === 0) return EMPTY_HASH;
  writeU64(rootView, 1, nodes.size);
  writeU64(rootView, 9, edges.size);
  rootMessage.set(nodes.mth(), TREES_AT);
  rootMessage.set(edges.mth(), TREES_AT + HASH_BYTES);
  return hash(rootMessage);
}
