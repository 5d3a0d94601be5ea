import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { MerkleTree } from '../audit/merkleTree.js';
import { hashGraphTreeNode } from './graphRoot.js';

/** Leaves that are cleared at once: under a millisecond, including the nodes above. */
const CLEARED_AT_ONCE = 256;

/** The Merkle tree over nodes or over edges, by id. */
export class GraphTree extends MerkleTree {
  /** Lists of ids whose leaves must be cleared before the next hash. */
  readonly #pending: (readonly number[])[] = [];
  /** Number of leaves cleared of the first list. */
  #cleared = 0;

  constructor() {
    super(hashGraphTreeNode);
  }

  /** Clears the leaf of a deleted id. */
  clear(id: number): void {
    this.set(id - 1, EMPTY_HASH);
  }

  /** Clears the leaves of many deleted ids later, a few at a time, by `clearSome`. */
  clearLater(ids: readonly number[]): void {
    if (ids.length > 0) this.#pending.push(ids);
  }

  /** Clears a few leaves. Returns true if more are left. */
  clearSome(): boolean {
    const [ids] = this.#pending;
    if (ids === undefined) return false;
    const end = Math.min(this.#cleared + CLEARED_AT_ONCE, ids.length);
    while (this.#cleared < end) this.clear(ids[this.#cleared++]!);
    if (end === ids.length) {
      this.#pending.shift();
      this.#cleared = 0;
    }
    return this.#pending.length > 0;
  }

  /** Returns the hash. Costs log2(size) hashes, and more if many leaves are still to be cleared. */
  override mth(): Uint8Array {
    while (this.clearSome());
    return super.mth();
  }
}
