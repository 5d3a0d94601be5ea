/**
 * The log tree: RFC 6962 over chain heads, 40 bytes an event (`merkleTree.ts`), with consistency proofs after RFC 9162.
 */
import { DOMAIN } from '../../shared/hashing/hash.js';
import { nodeHasher, rootHasher } from './merkleNode.js';
import { MerkleTree, splitOf } from './merkleTree.js';

/** Returns H(0x01 ‖ left ‖ right). No chain head is the empty hash. */
export const hashLogNode = nodeHasher(DOMAIN.logNode);

/** Returns H(0x02 ‖ u64 size ‖ Merkle tree hash). */
const logRoot = rootHasher(DOMAIN.logRoot);

/**
 * The Merkle tree over a log, with the shape of RFC 6962. Leaf i is the chain head after event i; the genesis is event
 * 0. A leaf commits to its event and all earlier ones, so two histories share no leaf after they differ. The size is
 * the sequence of the last event plus one.
 */
export class LogTree extends MerkleTree {
  constructor() {
    super(hashLogNode);
  }

  /** Returns a copy of the chain head after event `sequence`. */
  chainHead(sequence: number): Uint8Array {
    return this.leaf(sequence);
  }

  /** Returns the root over the first `size` events. Costs log2(size) hashes. */
  root(size: number): Uint8Array {
    return logRoot(size, this.mthOf(size));
  }

  /**
   * Proves that the tree of the first `to` events continues that of the first `from`: SUBPROOF(from, D[to], false) of
   * RFC 9162, section 2.1.4.1. Empty if the sizes are equal or the first is 0. The standard's consistency proof omits
   * the earlier tree's hash if `from` is a power of two. This one includes it, since the verifier has only the root.
   */
  consistency(from: number, to: number): Uint8Array {
    return from === 0 || from === to ? new Uint8Array() : Buffer.concat(this.#subproof(from, 0, to));
  }

  /** Returns the proof for leaves `low` to `high`. At least one of them is below `from`, and so in the earlier tree. */
  #subproof(from: number, low: number, high: number): Uint8Array[] {
    if (from === high) return [this.node(low, high)];
    const middle = low + splitOf(high - low);
    return from <= middle
      ? [...this.#subproof(from, low, middle), this.node(middle, high)]
      : [...this.#subproof(from, middle, high), this.node(low, middle)];
  }
}
