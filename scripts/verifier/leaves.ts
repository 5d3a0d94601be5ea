/**
 * The leaves of a tree that grows and changes, 32 bytes each. Its hash is put together from blocks of 1,024 leaves, of
 * which those that have not changed since keep theirs: the tree has the shape of RFC 6962, so a block is a node of it.
 */
import { ABSENT } from './hashing.js';
import { treeHash } from './tree.js';

const BLOCK_LEAVES = 1024;
const HASH_BYTES = 32;

export class Leaves {
  readonly #blocks: Buffer[] = [];
  readonly #hashes: (Buffer | undefined)[] = [];
  #size = 0;

  /** `domain`: the first byte of what the tree's nodes hash. */
  constructor(private readonly domain: number) {}

  get size(): number {
    return this.#size;
  }

  push(leaf: Uint8Array): void {
    if (this.#size % BLOCK_LEAVES === 0) this.#blocks.push(Buffer.alloc(BLOCK_LEAVES * HASH_BYTES));
    this.#size++;
    this.set(this.#size - 1, leaf);
  }

  set(index: number, leaf: Uint8Array): void {
    const block = Math.floor(index / BLOCK_LEAVES);
    this.#blocks[block]!.set(leaf, (index % BLOCK_LEAVES) * HASH_BYTES);
    this.#hashes[block] = undefined;
  }

  /** A copy. */
  get(index: number): Buffer {
    const at = (index % BLOCK_LEAVES) * HASH_BYTES;
    return Buffer.from(this.#blocks[Math.floor(index / BLOCK_LEAVES)]!.subarray(at, at + HASH_BYTES));
  }

  /** The Merkle tree hash; of no leaves, absent. */
  hash(): Buffer {
    if (this.#size === 0) return ABSENT;
    return treeHash(
      this.#blocks.map((_, block) => this.#blockHash(block)),
      this.domain,
    );
  }

  #blockHash(block: number): Buffer {
    this.#hashes[block] ??= treeHash(this.#leavesOf(block), this.domain);
    return this.#hashes[block];
  }

  #leavesOf(block: number): Buffer[] {
    const count = Math.min(BLOCK_LEAVES, this.#size - block * BLOCK_LEAVES);
    const bytes = this.#blocks[block]!;
    return Array.from({ length: count }, (_, i) => bytes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));
  }
}
