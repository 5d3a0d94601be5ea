/**
 * The Merkle tree over a log, of the shape of RFC 6962: leaf i is the chain head after event i (the genesis is event 0),
 * so that each leaf stands for its event and for all before it, and no two histories share a leaf that is not theirs
 * both. Its size is one more than the sequence of its last event.
 */
import { DOMAIN } from '../../shared/hash.js';
import { nodeHasher, rootHasher } from './merkleNode.js';
import { MerkleTree, splitOf, type TreeHashes } from './merkleTree.js';

/** H(0x01 ‖ left ‖ right). No chain head is the empty hash. */
export const hashLogNode = nodeHasher(DOMAIN.logNode);

/** H(0x02 ‖ u64 size ‖ Merkle tree hash). */
export const logRoot = rootHasher(DOMAIN.logRoot);

export class LogTree {
  readonly #tree = new MerkleTree(hashLogNode);

  get size(): number {
    return this.#tree.size;
  }

  /** Becomes the tree of these hashes, while it is empty. */
  adopt(hashes: TreeHashes): void {
    this.#tree.adopt(hashes);
  }

  /** The chain heads after the next events, one after another. One hash each on average. */
  append(chainHeads: Uint8Array): void {
    this.#tree.append(chainHeads);
  }

  /** The chain head after event `sequence`, a copy. */
  chainHead(sequence: number): Uint8Array {
    return this.#tree.leaf(sequence);
  }

  /** The root over the first `size` events. Costs log2(size) hashes. */
  root(size: number): Uint8Array {
    return logRoot(size, this.#tree.mthOf(size));
  }

  /** The siblings of leaf `sequence` in the tree of the first `size` events, 32 bytes each, bottom first. */
  path(sequence: number, size: number): Uint8Array {
    return this.#tree.path(sequence, size);
  }

  /**
   * The nodes that show the tree of the first `from` events to be the beginning of the tree of the first `to`:
   * SUBPROOF(from, D[to], false) of RFC 9162, section 2.1.4.1. That is its consistency proof, but that the hash of the
   * earlier tree is there too where `from` is a power of two: a verifier has the root, of which it cannot be had. None
   * where the sizes are equal or the first is 0.
   */
  consistency(from: number, to: number): Uint8Array {
    return from === 0 || from === to ? new Uint8Array() : Buffer.concat(this.#subproof(from, 0, to));
  }

  /** Of the leaves `low` to `high`, of which the earlier tree has those below `from`, and one at least. */
  #subproof(from: number, low: number, high: number): Uint8Array[] {
    if (from === high) return [this.#tree.node(low, high)];
    const middle = low + splitOf(high - low);
    return from <= middle
      ? [...this.#subproof(from, low, middle), this.#tree.node(middle, high)]
      : [...this.#subproof(from, middle, high), this.#tree.node(low, middle)];
  }
}
