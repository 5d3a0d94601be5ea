/**
 * The leaves of a tree that grows and changes, 32 bytes each. The tree has the shape of RFC 6962, so a block of 1,024 leaves is a
 * node of it. Its hash is kept until a leaf in it changes.
 */
import { ABSENT } from './hashing.js';
import { treeHash } from './tree.js';

const BLOCK_LEAVES = 1024;
const HASH_BYTES = 32;

export class Leaves {
  readonly #blocks: Uint8Array[] = [];
  readonly #hashes: (Uint8Array | undefined)[] = [];
  #size = 0;

  /** `domain`: the first byte that each node hashes. */
  constructor(private readonly domain: number) {}

  get size(): number {
    return this.#size;
  }

  push(leaf: Uint8Array): void {
    if (this.#size % BLOCK_LEAVES === 0) this.#blocks.push(new Uint8Array(BLOCK_LEAVES * HASH_BYTES));
    this.#size++;
    this.set(this.#size - 1, leaf);
  }

  set(index: number, leaf: Uint8Array): void {
    const block = Math.floor(index / BLOCK_LEAVES);
    this.#blocks[block]!.set(leaf, (index % BLOCK_LEAVES) * HASH_BYTES);
    this.#hashes[block] = undefined;
  }

  /** A copy of the leaf. */
  get(index: number): Uint8Array {
    const at = (index % BLOCK_LEAVES) * HASH_BYTES;
    return new Uint8Array(this.#blocks[Math.floor(index / BLOCK_LEAVES)]!.subarray(at, at + HASH_BYTES));
  }

  /** The Merkle tree hash; `ABSENT` without leaves. */
  hash(): Uint8Array {
    if (this.#size === 0) return ABSENT;
    return treeHash(
      this.#blocks.map((_, block) => this.#blockHash(block)),
      this.domain,
    );
  }

  #blockHash(block: number): Uint8Array {
    this.#hashes[block] ??= treeHash(this.#leavesOf(block), this.domain);
    return this.#hashes[block];
  }

  #leavesOf(block: number): Uint8Array[] {
    const count = Math.min(BLOCK_LEAVES, this.#size - block * BLOCK_LEAVES);
    const bytes = this.#blocks[block]!;
    return Array.from({ length: count }, (_, i) => bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
  }
}
