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

/** Leaves of a past tree that differ from the tree's. More may be added while a walk over it rests. */
export interface Overrides {
  /** Whether one is in `low` to `high` (exclusive): a range that splitting the past tree yields. */
  isAny(low: number, high: number): boolean;
  /** There is one at `index`. */
  leaf(index: number): Uint8Array;
  /** Comes first, and after each rest: takes in what was changed meanwhile. Yields where it may rest itself. */
  follow(): Generator<undefined, void>;
}

/** How the tree was when it had `size` leaves. */
export interface PastTree {
  readonly size: number;
  readonly overrides: Overrides;
}

const NO_LEAVES: Overrides = {
  isAny: () => false,
  leaf: (index) => {
    throw new RangeError(`leaf ${index} is not another`);
  },
  follow: function* () {},
};

/** Row arithmetic is done in 32 bits. */
const LEAVES_MAX = 2 ** 31;
/** Changed leaves whose ancestors are hashed together: fewer hashes where they share some, and under 2 ms of them. */
const CHANGED_MAX = 256;
/** Leaves of a past subtree that are hashed without a rest: under 1 ms. */
const LEAVES_PER_STEP = 512;

type Hashes = ChunkedRows<Uint8Array>;

/** All hashes of a tree, those of a level in chunks as `ChunkedRows` has them: passes between threads without a copy. */
export interface TreeHashes {
  readonly size: number;
  readonly levels: readonly (readonly Uint8Array[])[];
}
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

  /** Not to be changed. */
  hashes(): TreeHashes {
    this.#settle();
    return { size: this.size, levels: this.#levels.map(({ chunks }) => chunks) };
  }

  /** Becomes the tree that these are of, while it has no leaves. They are its own from then on. */
  adopt({ size, levels }: TreeHashes): void {
    for (const [level, chunks] of levels.entries()) {
      this.#levels[level] ??= newLevel();
      (this.#levels[level] as Hashes).adopt(chunks, Math.floor(size / 2 ** level));
    }
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
    return this.mthOf(this.size);
  }

  /** The same of the first `size` leaves. Costs log2(size) hashes. */
  mthOf(size: number): Uint8Array {
    return finish(this.pastMth({ size, overrides: NO_LEAVES }));
  }

  /** The siblings on the way from the leaf to the root, 32 bytes each, bottom first. */
  path(index: number, size = this.size): Uint8Array {
    return finish(this.pastPath(index, { size, overrides: NO_LEAVES }));
  }

  /** The node over leaves `low` to `high` (exclusive), a range that splitting yields. Costs log2 of their number in hashes. */
  node(low: number, high: number): Uint8Array {
    this.#assertHolds(high - 1, this.size);
    this.#settle();
    return this.#subtree(low, high, NO_LEAVES).slice();
  }

  /**
   * The hash of a past tree, as a walk that yields where it may rest. Costs log2(size) hashes, and as many again for each
   * override where they lie apart.
   */
  *pastMth({ size, overrides }: PastTree): Generator<undefined, Uint8Array> {
    if (size === 0) return EMPTY_HASH.slice();
    this.#assertHolds(size - 1, this.size);
    yield* this.#begin(overrides);
    return yield* this.#walk(0, size, overrides);
  }

  /** The path of a leaf in a past tree, at the same cost. */
  *pastPath(index: number, { size, overrides }: PastTree): Generator<undefined, Uint8Array> {
    this.#assertHolds(size - 1, this.size);
    this.#assertHolds(index, size);
    yield* this.#begin(overrides);
    const siblings: Uint8Array[] = [];
    let low = 0;
    let high = size;
    while (high - low > 1) {
      const middle = low + splitOf(high - low);
      if (index < middle) {
        siblings.push(yield* this.#walk(middle, high, overrides));
        high = middle;
      } else {
        siblings.push(yield* this.#walk(low, middle, overrides));
        low = middle;
      }
    }
    return concat(siblings.reverse());
  }

  get #leaves(): Hashes {
    return this.#levels[0] as Hashes;
  }

  /** What is changed from here on is among the overrides, so that its ancestors are not read any more. */
  *#begin(overrides: Overrides): Generator<undefined, void> {
    this.#settle();
    yield* overrides.follow();
  }

  /** As `#subtree`, with rests where there is much to hash; a copy, since the tree may change in a rest. */
  *#walk(low: number, high: number, overrides: Overrides): Generator<undefined, Uint8Array> {
    if (high - low <= LEAVES_PER_STEP || !overrides.isAny(low, high))
      return this.#subtree(low, high, overrides).slice();
    const middle = low + splitOf(high - low);
    const left = yield* this.#walk(low, middle, overrides);
    yield;
    yield* overrides.follow();
    const right = yield* this.#walk(middle, high, overrides);
    return this.#join(left, right);
  }

  /**
   * The node over leaves `low` to `high` (exclusive), one of the ranges that splitting yields, with the overrides in it.
   * Perhaps a view.
   */
  #subtree(low: number, high: number, overrides: Overrides): Uint8Array {
    const width = high - low;
    const isComplete = isPowerOfTwo(width);
    if (isComplete && !overrides.isAny(low, high)) return (this.#levels[Math.log2(width)] as Hashes).at(low / width);
    if (width === 1) return overrides.leaf(low);
    const middle = low + splitOf(width);
    const left = this.#subtree(low, middle, overrides);
    return this.#join(left, this.#subtree(middle, high, overrides));
  }

  #join(left: Uint8Array, right: Uint8Array): Uint8Array {
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
export const splitOf = (n: number): number => 2 ** (31 - Math.clz32(n - 1));

function concat(hashes: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(hashes.length * HASH_BYTES);
  for (const [i, hash] of hashes.entries()) all.set(hash, i * HASH_BYTES);
  return all;
}

/** Walks to the end without a rest. */
export function finish<T>(walk: Generator<undefined, T>): T {
  for (;;) {
    const step = walk.next();
    if (step.done) return step.value;
  }
}
