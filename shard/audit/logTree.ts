import { DOMAIN } from '../../shared/hashing/hash.js';
import { nodeHasher, rootHasher } from './merkleNode.js';
import { MerkleTree, splitOf } from './merkleTree.js';

/** H(0x01 ‖ left ‖ right). No chain head is the empty hash. */
export const hashLogNode = nodeHasher(DOMAIN.logNode);

/** H(0x02 ‖ u64 size ‖ Merkle tree hash). */
const logRoot = rootHasher(DOMAIN.logRoot);

/**
 * The Merkle tree over a log, of the shape of RFC 6962: leaf i is the chain head after event i (the genesis is event 0),
 * so a leaf stands for its event and all before it, and two histories share no leaf after they differ. Its size is one
 * more than the sequence of its last event.
 */
export class LogTree extends MerkleTree {
  constructor() {
    super(hashLogNode);
  }

  /** The chain head after event `sequence`, a copy. */
  chainHead(sequence: number): Uint8Array {
    return this.leaf(sequence);
  }

  /** The root over the first `size` events. Costs log2(size) hashes. */
  root(size: number): Uint8Array {
    return logRoot(size, this.mthOf(size));
  }

  /**
   * The nodes that show that the tree of the first `from` events is the beginning of the tree of the first `to`:
   * SUBPROOF(from, D[to], false) of RFC 9162, section 2.1.4.1. Unlike its consistency proof this has the hash of the
   * earlier tree even where `from` is a power of two: the verifier has only the root, which does not give that hash.
   * Empty where the sizes are equal or the first is 0.
   */
  consistency(from: number, to: number): Uint8Array {
    return from === 0 || from === to ? new Uint8Array() : Buffer.concat(this.#subproof(from, 0, to));
  }

  /** The proof for leaves `low` to `high`, of which the earlier tree has at least one: those below `from`. */
  #subproof(from: number, low: number, high: number): Uint8Array[] {
    if (from === high) return [this.node(low, high)];
    const middle = low + splitOf(high - low);
    return from <= middle
      ? [...this.#subproof(from, low, middle), this.node(middle, high)]
      : [...this.#subproof(from, middle, high), this.node(low, middle)];
  }
}
