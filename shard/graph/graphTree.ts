import { EMPTY_HASH } from '../../shared/hash.js';
import { MerkleTree } from '../audit/merkleTree.js';
import { hashGraphTreeNode } from './graphRoot.js';

/** The Merkle tree over nodes or over edges, by id. Its hash is kept until it changes. */
export class GraphTree {
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

  /** What has this id is deleted. */
  clear(id: number): void {
    this.#tree.set(id - 1, EMPTY_HASH);
    this.#mth = undefined;
  }

  /** Costs log2(size) hashes after a change. */
  mth(): Uint8Array {
    this.#mth ??= this.#tree.mth();
    return this.#mth;
  }
}
