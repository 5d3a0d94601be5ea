/**
 * A Merkle tree of the shape of RFC 6962, section 2.1: n leaves split at the largest power of two below n, a lone right
 * part stands for itself. Leaves are kept, and the nodes over groups of 8 leaves and more: 40 bytes a leaf in all. Leaves that
 * can be hashed anew are not kept, and come in groups of 4: 16 bytes a leaf. The hash of an incomplete subtree is computed on
 * demand, from at most log2(n) nodes and the leaves of a group.
 */
import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { atOnce } from '../../shared/scheduling/slice.js';
import { ChunkedRows } from './chunkedRows.js';
import { type HashNode, joinNodes } from './merkleNode.js';
import { type LeafSource, type Leaves, RecomputedLeaves } from './recomputedLeaves.js';

/** Leaves of a past tree that differ from the tree's. More may be added while a walk over it rests. */
export interface Overrides {
  /** Whether there is one in `low` to `high` (exclusive): a range that splitting the past tree yields. */
  isAny(low: number, high: number): boolean;
  /** The one at `index`, which exists. */
  leaf(index: number): Uint8Array;
  /** Takes in the changes made meanwhile: called first, and after each rest. Yields where it may rest itself. */
  follow(): Generator<undefined, void>;
}

export interface PastTree {
  readonly size: number;
  /** Undefined: no leaf has changed since. */
  readonly overrides?: Overrides;
}

/** Row arithmetic is done in 32 bits. */
const LEAVES_MAX = 2 ** 31;
/** Changed leaves whose ancestors are hashed together: shared ancestors are hashed once, in under 2 ms. */
const CHANGED_MAX = 256;
/** Leaves of a past subtree that are hashed without a rest: under 0.3 ms, if their records are small. */
const LEAVES_PER_STEP = 64;

/**
 * Leaves under the lowest nodes that are kept, a power of two. With the nodes below a leaf would take 64 bytes, and a write save
 * up to 2 µs.
 */
const USUAL_GROUP = 8;

interface TreeOptions {
  /** Leaves under the lowest nodes that are kept, a power of two up to 8. */
  readonly group?: number;
  /** Hashes leaves anew, which then are not kept. */
  readonly source?: LeafSource | undefined;
}

/** All hashes of a tree, the chunks of `ChunkedRows` for each level: passes between threads without a copy. */
export interface TreeHashes {
  readonly size: number;
  readonly levels: readonly (readonly Uint8Array[])[];
}

type Hashes = ChunkedRows<Uint8Array>;
const newLevel = (): Hashes => new ChunkedRows((elements) => new Uint8Array(elements), HASH_BYTES);

export class MerkleTree {
  /** Leaves first, then nodes of complete subtrees: of a group of leaves, and twice as many in each level above. */
  readonly #levels: Leaves[];
  readonly #recomputed: RecomputedLeaves | undefined;
  /** Leaves that were set and whose ancestors are not hashed yet. */
  #changed: number[] = [];

  readonly #group: number;
  readonly #groupShift: number;

  constructor(
    private readonly hashNode: HashNode,
    { group = USUAL_GROUP, source }: TreeOptions = {},
  ) {
    this.#group = group;
    this.#groupShift = Math.log2(group);
    this.#recomputed = source && new RecomputedLeaves(source, (number, leaves) => this.#isNode(number, leaves), group);
    this.#levels = [this.#recomputed ?? newLevel()];
  }

  get size(): number {
    return this.#leaves.length;
  }

  /** All hashes, which must not be changed. */
  hashes(): TreeHashes {
    this.#hashChanged();
    return { size: this.size, levels: this.#levels.map(({ chunks }) => chunks) };
  }

  /** Takes over the hashes of another tree. This tree is empty. */
  adopt({ size, levels }: TreeHashes): void {
    for (const [level, chunks] of levels.entries()) {
      this.#levels[level] ??= newLevel();
      this.#levels[level].adopt(chunks, Math.floor(size / this.#leavesBelow(level)));
    }
  }

  /** Appends leaves, one after another in `leaves`. Hashes each node once, when it becomes complete. */
  append(leaves: Uint8Array): void {
    if (this.size + leaves.length / HASH_BYTES > LEAVES_MAX)
      throw new RangeError(`a tree of over ${LEAVES_MAX} leaves`);
    this.#leaves.append(leaves);
    for (let level = 1; ; level++) {
      const complete = this.#levels[level - 1]!.length >>> this.#shiftTo(level);
      if (complete === (this.#levels[level]?.length ?? 0)) break;
      this.#levels[level] ??= newLevel();
      const nodes = this.#levels[level]!;
      while (nodes.length < complete) nodes.append(this.#nodeAt(level, nodes.length));
    }
    this.#recomputed?.trim();
  }

  /** If leaves are not kept, the leaf must have been read before its content changed. */
  set(index: number, leaf: Uint8Array): void {
    this.#assertHolds(index, this.size);
    this.#leaves.set(index, leaf);
    this.#changed.push(index);
    if (this.#changed.length >= CHANGED_MAX) this.#hashChanged();
  }

  /** A copy. Throws Damaged where leaves are hashed anew and the content of this one or a neighbour is not as it was. */
  leaf(index: number): Uint8Array {
    this.#assertHolds(index, this.size);
    return this.#leaves.at(index).slice();
  }

  /** Whether the leaf at `index` is `leaf()`, the hash of its present content. */
  isIntact(index: number, leaf: () => Uint8Array): boolean {
    this.#assertHolds(index, this.size);
    return this.#recomputed?.isIntact(index) ?? Buffer.compare(this.#leaves.at(index), leaf()) === 0;
  }

  /** The Merkle tree hash; 32 zeroes for no leaves. */
  mth(): Uint8Array {
    return this.mthOf(this.size);
  }

  /** The hash of the tree of the first `size` leaves. Costs log2(size) hashes. */
  mthOf(size: number): Uint8Array {
    return atOnce(this.pastMth({ size }));
  }

  /** The siblings from the leaf to the root, 32 bytes each, bottom first. */
  path(index: number, size = this.size): Uint8Array {
    return atOnce(this.pastPath(index, { size }));
  }

  /** The node over leaves `low` to `high` (exclusive), a range that splitting yields. Costs log2(high − low) hashes. */
  node(low: number, high: number): Uint8Array {
    this.#assertHolds(high - 1, this.size);
    this.#hashChanged();
    return this.#subtree(low, high).slice();
  }

  /** The hash of a past tree: a walk that yields where it may rest. Costs log2(size) hashes, and as many an override. */
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
    return new Uint8Array(Buffer.concat(siblings.reverse()));
  }

  get #leaves(): Leaves {
    return this.#levels[0]!;
  }

  /** Hashes all pending ancestors: later changes are among the overrides, so their ancestors are not read. */
  *#begin(overrides?: Overrides): Generator<undefined, void> {
    this.#hashChanged();
    if (overrides !== undefined) yield* overrides.follow();
  }

  /** `#subtree` with rests where there is much to hash; a copy, since the tree may change in a rest. */
  *#walk(low: number, high: number, overrides?: Overrides): Generator<undefined, Uint8Array> {
    if (high - low <= LEAVES_PER_STEP || !overrides?.isAny(low, high))
      return this.#subtree(low, high, overrides).slice();
    const middle = low + splitOf(high - low);
    const left = yield* this.#walk(low, middle, overrides);
    yield;
    yield* overrides.follow();
    const right = yield* this.#walk(middle, high, overrides);
    return joinNodes(left, right, this.hashNode);
  }

  /** The node over leaves `low` to `high` (exclusive), with the overrides in it. May be a view. */
  #subtree(low: number, high: number, overrides?: Overrides): Uint8Array {
    const width = high - low;
    const isComplete = isPowerOfTwo(width);
    if (isComplete && (width === 1 || width >= this.#group) && !overrides?.isAny(low, high))
      return this.#levels[this.#levelOf(width)]!.at(low / width);
    // A single leaf has an override here.
    if (width === 1) return overrides!.leaf(low);
    const middle = low + splitOf(width);
    const left = this.#subtree(low, middle, overrides);
    return joinNodes(left, this.#subtree(middle, high, overrides), this.hashNode);
  }

  /** Hashes the complete ancestors of the changed leaves, each once, level by level. */
  #hashChanged(): void {
    if (this.#changed.length === 0) return;
    const touched = this.#changed.sort((a, b) => a - b);
    for (let level = 1; touched.length > 0 && level < this.#levels.length; level++) {
      const nodes = this.#levels[level]!;
      let kept = 0;
      for (const index of touched) {
        const parent = index >>> this.#shiftTo(level);
        if (parent >= nodes.length) break;
        if (kept > 0 && touched[kept - 1] === parent) continue;
        nodes.set(parent, this.#nodeAt(level, parent));
        touched[kept++] = parent;
      }
      touched.length = kept;
    }
    this.#changed = [];
    this.#recomputed?.hashed();
  }

  /** The node over complete rows of the level below, hashed anew. */
  #nodeAt(level: number, index: number): Uint8Array {
    const shift = this.#shiftTo(level);
    const rows = this.#levels[level - 1]!.rows(index << shift, 1 << shift);
    return shift === 1 ? this.hashNode(rows) : this.#groupNode(rows);
  }

  #isNode(number: number, leaves: Uint8Array): boolean {
    return Buffer.compare(this.#groupNode(leaves), this.#levels[1]!.at(number)) === 0;
  }

  /** The node over a group of leaves. */
  #groupNode(leaves: Uint8Array): Uint8Array {
    group.set(leaves);
    for (let nodes = this.#group / 2; nodes >= 1; nodes /= 2)
      for (let i = 0; i < nodes; i++)
        group.set(this.hashNode(group.subarray(2 * i * HASH_BYTES, 2 * (i + 1) * HASH_BYTES)), i * HASH_BYTES);
    return group.subarray(0, HASH_BYTES);
  }

  /** log2 of the rows of the level below that a node of `level` stands for. */
  #shiftTo(level: number): number {
    return level === 1 ? this.#groupShift : 1;
  }

  /** The leaves below a node of `level`. */
  #leavesBelow(level: number): number {
    return level === 0 ? 1 : this.#group * 2 ** (level - 1);
  }

  /** The level of the nodes over `leaves` leaves, which is kept. */
  #levelOf(leaves: number): number {
    return leaves === 1 ? 0 : Math.log2(leaves) - this.#groupShift + 1;
  }

  #assertHolds(index: number, size: number): void {
    if (!(Number.isInteger(index) && index >= 0 && index < size))
      throw new RangeError(`leaf ${index} of a tree of ${size}`);
  }
}

const group = new Uint8Array(USUAL_GROUP * HASH_BYTES);

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** The largest power of two below `n`, for n of 2 or more. */
export const splitOf = (n: number): number => 2 ** (31 - Math.clz32(n - 1));
