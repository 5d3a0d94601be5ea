/**
 * Merkle trees of transparency logs: RFC 6962, section 2.1, with SHA-256. Indexes and sizes are below 2^53. The trees of
 * collections have another hash: see `verifier/tree.ts`.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { concat, equal, u8 } from '../bytes.js';

export const HASH_BYTES = 32;

export const leafHash = (entry: Uint8Array): Uint8Array => sha256(concat([u8(0x00), entry]));
export const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(concat([u8(0x01), left, right]));

/** The root of a tree without leaves. */
export const EMPTY_ROOT: Uint8Array = sha256(new Uint8Array(0));

const half = (value: number): number => Math.floor(value / 2);
const isOdd = (value: number): boolean => value % 2 === 1;

/**
 * The root of a tree of `size` leaves from one leaf hash and its audit path, bottom first (RFC 9162, section 2.1.3.2).
 * Undefined if the path has the wrong length, or the tree has no such leaf.
 */
export function rootFromPath(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
): Uint8Array | undefined {
  if (index >= size) return undefined;
  let [at, last, root] = [index, size - 1, leaf];
  for (const beside of path) {
    if (last === 0) return undefined;
    if (isOdd(at) || at === last) {
      root = nodeHash(beside, root);
      while (!isOdd(at) && at !== 0) [at, last] = [half(at), half(last)];
    } else root = nodeHash(root, beside);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 ? root : undefined;
}

/** A tree at one size. */
export interface TreeAt {
  readonly size: number;
  readonly root: Uint8Array;
}

/** Whether the later tree begins with the earlier one, by a consistency proof of RFC 6962, section 2.1.2. */
export function isConsistent(earlier: TreeAt, later: TreeAt, proof: readonly Uint8Array[]): boolean {
  if (earlier.size > later.size) return false;
  if (earlier.size === later.size) return proof.length === 0 && equal(earlier.root, later.root);
  if (earlier.size === 0) return proof.length === 0 && equal(earlier.root, EMPTY_ROOT);
  let [at, last] = [earlier.size - 1, later.size - 1];
  while (isOdd(at)) [at, last] = [half(at), half(last)];
  // The proof omits the earlier root if that is a node of the later tree.
  const [first, ...rest] = at === 0 ? [earlier.root, ...proof] : proof;
  if (first === undefined) return false;
  let [before, after] = [first, first];
  for (const node of rest) {
    if (last === 0) return false;
    if (isOdd(at) || at === last) {
      before = nodeHash(node, before);
      after = nodeHash(node, after);
      while (!isOdd(at) && at !== 0) [at, last] = [half(at), half(last)];
    } else after = nodeHash(after, node);
    [at, last] = [half(at), half(last)];
  }
  return last === 0 && equal(before, earlier.root) && equal(after, later.root);
}

/** The right edge of a growing tree: enough to append leaves and to compute the root, a few hashes for any size. */
export class Frontier {
  #size: number;
  /** Hashes of full subtrees, the largest first: one for each bit of the size. */
  readonly #peaks: Uint8Array[];

  /** Continues a tree of `size` leaves with these peaks. Throws an Error if their number is wrong. */
  constructor(size = 0, peaks: readonly Uint8Array[] = []) {
    let bits = 0;
    for (let left = size; left > 0; left = half(left)) bits += left % 2;
    if (peaks.length !== bits) throw new Error(`a tree of ${size} leaves has ${bits} peaks, not ${peaks.length}`);
    this.#size = size;
    this.#peaks = [...peaks];
  }

  get size(): number {
    return this.#size;
  }

  get peaks(): readonly Uint8Array[] {
    return this.#peaks;
  }

  append(leaf: Uint8Array): void {
    let node = leaf;
    for (let left = this.#size; isOdd(left); left = half(left)) node = nodeHash(this.#peaks.pop()!, node);
    this.#peaks.push(node);
    this.#size++;
  }

  root(): Uint8Array {
    const last = this.#peaks.at(-1);
    if (last === undefined) return EMPTY_ROOT;
    return this.#peaks.slice(0, -1).reduceRight((root, peak) => nodeHash(peak, root), last);
  }
}
