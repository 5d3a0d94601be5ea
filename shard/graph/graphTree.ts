import { EMPTY_HASH } from '../../shared/hash.js';
import { MerkleTree, type TreeHashes } from '../audit/merkleTree.js';
import { hashGraphTreeNode } from './graphRoot.js';

/** Leaves that are cleared at once: under a millisecond, with the nodes above them. */
const CLEARED_AT_ONCE = 256;

/** The Merkle tree over nodes or over edges, by id. Its hash is kept until it changes. */
export class GraphTree {
  /** Ids whose leaves are still to be cleared, before the hash is asked for. */
  readonly #doomed: (readonly number[])[] = [];
  /** Of the first of the lists, how many have been. */
  #cleared = 0;
  readonly #tree = new MerkleTree(hashGraphTreeNode);
  #mth: Uint8Array | undefined;

  /** Ids ever given. */
  get size(): number {
    return this.#tree.size;
  }

  /** The leaf of the next id. */
  append(leaf: Uint8Array): void {
    this.#tree.append(leaf);
    this.#mth = undefined;
  }

  adopt(hashes: TreeHashes): void {
    this.#tree.adopt(hashes);
    this.#mth = undefined;
  }

  /** What has this id is deleted. */
  clear(id: number): void {
    this.#tree.set(id - 1, EMPTY_HASH);
    this.#mth = undefined;
  }

  /** What has these ids is deleted: so many that their leaves are better cleared a few at a time, by `clearSome`. */
  clearLater(ids: readonly number[]): void {
    if (ids.length === 0) return;
    this.#doomed.push(ids);
    this.#mth = undefined;
  }

  /** Clears a few of the leaves that are to be; true where there are more. */
  clearSome(): boolean {
    const [ids] = this.#doomed;
    if (ids === undefined) return false;
    const end = Math.min(this.#cleared + CLEARED_AT_ONCE, ids.length);
    while (this.#cleared < end) this.#tree.set(ids[this.#cleared++]! - 1, EMPTY_HASH);
    if (end === ids.length) {
      this.#doomed.shift();
      this.#cleared = 0;
    }
    return this.#doomed.length > 0;
  }

  /** Costs log2(size) hashes after a change, and more where many leaves are still to be cleared. */
  mth(): Uint8Array {
    while (this.clearSome());
    this.#mth ??= this.#tree.mth();
    return this.#mth;
  }
}
