/**
 * A Merkle tree of the shape of RFC 6962, section 2.1: n leaves split at the largest power of two below n, a lone right
 * part stands for itself. Every complete subtree's node is kept, 64 bytes a leaf in all, and hashed once when it becomes
 * complete; what is incomplete is put together from at most log2(n) of them when asked for.
 */
import { EMPTY_HASH } from '../../shared/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { ChunkedRows } from './chunkedRows.js';

/** From `left ‖ right`, 64 bytes that are not to be kept, to their node. */
export type HashNode = (children: Uint8Array) => Uint8Array;

/** Leaves that differ from the tree's, by ascending index. */
export interface Overrides {
  readonly indices: readonly number[];
  readonly leaves: readonly Uint8Array[];
}

export const NO_OVERRIDES: Overrides = { indices: [], leaves: [] };

/** Row arithmetic is done in 32 bits. */
const LEAVES_MAX = 2 ** 31;
/** Changed leaves whose ancestors are hashed together: fewer hashes where they share some, and under 2 ms of them. */
const CHANGED_MAX = 256;

type Hashes = ChunkedRows<Uint8Array>;
const newLevel = (): Hashes => new ChunkedRows((elements) => new Uint8Array(elements), HASH_BYTES);

export class MerkleTree {
  /** Leaves first; in each level above, the nodes of the complete subtrees. */
  readonly #levels: Hashes[] = [newLevel()];
  /** Leaves that were set and whose ancestors are not hashed yet. */
  #changed: number[] = [];
  readonly #children = new Uint8Array(2 * HASH_BYTES);

  constructor(private readonly hashNode: HashNode) {}

  get size(): number {
    return this.#leaves.length;
  }

  /** Appends the leaves that stand one after another in `leaves`. Hashes each node that becomes complete once. */
  append(leaves: Uint8Array): void {
    if (this.size + leaves.length / HASH_BYTES > LEAVES_MAX)
      throw new RangeError(`a tree of over ${LEAVES_MAX} leaves`);
    this.#leaves.append(leaves);
    for (let level = 0; ; level++) {
      const below = this.#levels[level] as Hashes;
      const complete = below.length >>> 1;
      if (complete === (this.#levels[level + 1]?.length ?? 0)) return;
      this.#levels[level + 1] ??= newLevel();
      const above = this.#levels[level + 1] as Hashes;
      while (above.length < complete) above.append(this.hashNode(below.pair(above.length)));
    }
  }

  set(index: number, leaf: Uint8Array): void {
    this.#assertHolds(index, this.size);
    this.#leaves.set(index, leaf);
    this.#changed.push(index);
    if (this.#changed.length >= CHANGED_MAX) this.#settle();
  }

  /** A copy. */
  leaf(index: number): Uint8Array {
    this.#assertHolds(index, this.size);
    return this.#leaves.at(index).slice();
  }

  /** The Merkle tree hash; 32 zeroes for no leaves. */
  mth(): Uint8Array {
    return this.mthAt(this.size, NO_OVERRIDES);
  }

  /** The siblings on the way from the leaf to the root, 32 bytes each, bottom first. */
  path(index: number): Uint8Array {
    return this.pathAt(index, this.size, NO_OVERRIDES);
  }

  /**
   * The hash of the tree as it was when it had `size` leaves, with some of them replaced. Costs log2(size) hashes, and
   * as many again for each override where they lie apart.
   */
  mthAt(size: number, overrides: Overrides): Uint8Array {
    if (size === 0) return EMPTY_HASH.slice();
    this.#assertHolds(size - 1, this.size);
    this.#settle();
    return this.#subtree(0, size, overrides, 0, overrides.indices.length).slice();
  }

  /** The path in the tree that `mthAt` describes, at the same cost. */
  pathAt(index: number, size: number, overrides: Overrides): Uint8Array {
    this.#assertHolds(size - 1, this.size);
    this.#assertHolds(index, size);
    this.#settle();
    const siblings: Uint8Array[] = [];
    let low = 0;
    let high = size;
    let from = 0;
    let to = overrides.indices.length;
    while (high - low > 1) {
      const middle = low + splitOf(high - low);
      const cut = firstNotBelow(overrides.indices, middle, from, to);
      if (index < middle) {
        siblings.push(this.#subtree(middle, high, overrides, cut, to));
        high = middle;
        to = cut;
      } else {
        siblings.push(this.#subtree(low, middle, overrides, from, cut));
        low = middle;
        from = cut;
      }
    }
    return concat(siblings.reverse());
  }

  get #leaves(): Hashes {
    return this.#levels[0] as Hashes;
  }

  /**
   * The node over leaves `low` to `high` (exclusive), one of the ranges that splitting yields, with the overrides `from`
   * to `to` (exclusive) in it. Perhaps a view.
   */
  #subtree(low: number, high: number, overrides: Overrides, from: number, to: number): Uint8Array {
    const width = high - low;
    if (from === to && isPowerOfTwo(width)) {
      const level = Math.log2(width);
      return (this.#levels[level] as Hashes).at(low / width);
    }
    if (width === 1) return overrides.leaves[from] as Uint8Array;
    const middle = low + splitOf(width);
    const cut = firstNotBelow(overrides.indices, middle, from, to);
    const left = this.#subtree(low, middle, overrides, from, cut);
    const right = this.#subtree(middle, high, overrides, cut, to);
    this.#children.set(left);
    this.#children.set(right, HASH_BYTES);
    return this.hashNode(this.#children);
  }

  /** Hashes the complete ancestors of the changed leaves, each once, level by level. */
  #settle(): void {
    if (this.#changed.length === 0) return;
    const touched = this.#changed.sort((a, b) => a - b);
    for (let level = 1; touched.length > 0 && level < this.#levels.length; level++) {
      const below = this.#levels[level - 1] as Hashes;
      const above = this.#levels[level] as Hashes;
      let kept = 0;
      for (const index of touched) {
        const parent = index >>> 1;
        if (parent >= above.length) break;
        if (kept > 0 && touched[kept - 1] === parent) continue;
        above.set(parent, this.hashNode(below.pair(parent)));
        touched[kept++] = parent;
      }
      touched.length = kept;
    }
    this.#changed = [];
  }

  #assertHolds(index: number, size: number): void {
    if (!(Number.isInteger(index) && index >= 0 && index < size))
      throw new RangeError(`leaf ${index} of a tree of ${size}`);
  }
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** The largest power of two below `n`, for n of 2 or more. */
const splitOf = (n: number): number => 2 ** (31 - Math.clz32(n - 1));

/** The first position in `from` to `to` (exclusive) whose value is `bound` or more, else `to`. */
function firstNotBelow(ascending: readonly number[], bound: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

function concat(hashes: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(hashes.length * HASH_BYTES);
  for (const [i, hash] of hashes.entries()) all.set(hash, i * HASH_BYTES);
  return all;
}
