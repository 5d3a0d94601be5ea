/**
 * A Merkle tree with the shape of RFC 6962, section 2.1. It splits n leaves at the largest power of two below n; a
 * single right leaf is its own node. It keeps leaves, and the nodes over 8 leaves or more: 40 bytes a leaf in all.
 * Leaves that can be recomputed are not kept, and are grouped by 4: 16 bytes a leaf. The hash of an incomplete subtree
 * is computed on demand, from at most log2(n) nodes and the leaves of a group.
 */
import { EMPTY_HASH } from '../../shared/hashing/hash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { atOnce } from '../../shared/scheduling/slice.js';
import { ChunkedRows } from './chunkedRows.js';
import { type HashNode, joinNodes } from './merkleNode.js';
import { type LeafSource, type Leaves, RecomputedLeaves } from './recomputedLeaves.js';

/** Leaves of a past tree that differ from the current tree's. More may be added while a walk over it pauses. */
export interface Overrides {
  /** Whether a leaf from `low` to below `high` differs. The range must result from splitting the past tree. */
  isAny(low: number, high: number): boolean;
  /** Returns the leaf at `index`, which must differ. */
  leaf(index: number): Uint8Array;
  /** Adds the changes made since. Called first, and after each pause. Yields where it may pause. */
  follow(): Generator<undefined, void>;
}

export interface PastTree {
  readonly size: number;
  /** Undefined if no leaf has changed since. */
  readonly overrides?: Overrides;
}

/** Largest number of leaves: row arithmetic is in 32 bits. */
const LEAVES_MAX = 2 ** 31;
/** Changed leaves whose ancestors are hashed together. Shared ancestors are hashed once, all in under 2 ms. */
const CHANGED_MAX = 256;
/** Leaves of a past subtree that are hashed without a pause: under 0.3 ms, if their records are small. */
const LEAVES_PER_STEP = 64;

/**
 * Leaves below the lowest kept nodes, a power of two. Keeping the nodes below would take 64 bytes a leaf, and save a
 * write up to 2 µs.
 */
const USUAL_GROUP = 8;

interface TreeOptions {
  /** Leaves below the lowest kept nodes, a power of two up to 8. */
  readonly group?: number;
  /** Recomputes leaves, which then are not kept. */
  readonly source?: LeafSource | undefined;
}

/** All hashes of a tree: the chunks of `ChunkedRows` by level. Threads exchange them without a copy. */
export interface TreeHashes {
  readonly size: number;
  readonly levels: readonly (readonly Uint8Array[])[];
}

type Hashes = ChunkedRows<Uint8Array>;
const newLevel = (): Hashes => new ChunkedRows((elements) => new Uint8Array(elements), HASH_BYTES);

export class MerkleTree {
  /** Leaves first, then nodes of complete subtrees: of one group of leaves, then of twice as many per level. */
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

  /** Returns all hashes. Do not change them. */
  hashes(): TreeHashes {
    this.#hashChanged();
    return { size: this.size, levels: this.#levels.map(({ chunks }) => chunks) };
  }

  /** Takes over the hashes of another tree. This tree must be empty. */
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

  /** Changes a leaf. If leaves are not kept, it must have been read before its content changed. */
  set(index: number, leaf: Uint8Array): void {
    this.#assertHolds(index, this.size);
    this.#leaves.set(index, leaf);
    this.#changed.push(index);
    if (this.#changed.length >= CHANGED_MAX) this.#hashChanged();
  }

  /** Returns a copy. Throws Damaged if leaves are recomputed and the content of this one or a neighbour has changed. */
  leaf(index: number): Uint8Array {
    this.#assertHolds(index, this.size);
    return this.#leaves.at(index).slice();
  }

  /** Whether the leaf at `index` equals `leaf()`, the hash of its present content. */
  isIntact(index: number, leaf: () => Uint8Array): boolean {
    this.#assertHolds(index, this.size);
    return this.#recomputed?.isIntact(index) ?? Buffer.compare(this.#leaves.at(index), leaf()) === 0;
  }

  /** Returns the Merkle tree hash; 32 zeros for no leaves. */
  mth(): Uint8Array {
    return this.mthOf(this.size);
  }

  /** Returns the hash of the tree of the first `size` leaves. Costs log2(size) hashes. */
  mthOf(size: number): Uint8Array {
    return atOnce(this.pastMth({ size }));
  }

  /** Returns the siblings from the leaf to the root, 32 bytes each, bottom first. */
  path(index: number, size = this.size): Uint8Array {
    this.#assertHolds(size - 1, this.size);
    this.#assertHolds(index, size);
    this.#hashChanged();
    const siblings = siblingsOf(index, size);
    let at = (siblings.length / 2) * HASH_BYTES;
    // An array of its own would have memory outside of the heap, which costs more than the path.
    const path = Buffer.allocUnsafe(at);
    for (let i = 0; i < siblings.length; i += 2) {
      at -= HASH_BYTES;
      this.#copySubtree(siblings[i]!, siblings[i + 1]!, path, at);
    }
    return path;
  }

  /**
   * Returns the node over leaves `low` to below `high`, a range that results from splitting. Costs log2(high − low)
   * hashes.
   */
  node(low: number, high: number): Uint8Array {
    this.#assertHolds(high - 1, this.size);
    this.#hashChanged();
    return this.#subtree(low, high).slice();
  }

  /**
   * Computes the hash of a past tree, and yields where it may pause. Costs log2(size) hashes, and as many per override.
   */
  *pastMth({ size, overrides }: PastTree): Generator<undefined, Uint8Array> {
    if (size === 0) return EMPTY_HASH.slice();
    this.#assertHolds(size - 1, this.size);
    yield* this.#begin(overrides);
    return yield* this.#walk(0, size, overrides);
  }

  /** Computes the path of a leaf in a past tree, at an equal cost. */
  *pastPath(index: number, { size, overrides }: PastTree): Generator<undefined, Uint8Array> {
    if (overrides === undefined) return this.path(index, size);
    this.#assertHolds(size - 1, this.size);
    this.#assertHolds(index, size);
    yield* this.#begin(overrides);
    const siblings = siblingsOf(index, size);
    const path = new Uint8Array((siblings.length / 2) * HASH_BYTES);
    let at = path.length;
    for (let i = 0; i < siblings.length; i += 2) {
      const low = siblings[i]!;
      const high = siblings[i + 1]!;
      at -= HASH_BYTES;
      const isStep = isOneStep(low, high, overrides);
      path.set(isStep ? this.#subtree(low, high, overrides) : yield* this.#walk(low, high, overrides), at);
    }
    return path;
  }

  get #leaves(): Leaves {
    return this.#levels[0]!;
  }

  /** Hashes all pending ancestors. Later changes become overrides, so their ancestors are not read. */
  *#begin(overrides?: Overrides): Generator<undefined, void> {
    this.#hashChanged();
    if (overrides !== undefined) yield* overrides.follow();
  }

  /** Computes `#subtree` with pauses. Returns a copy, since the tree may change in a pause. */
  *#walk(low: number, high: number, overrides?: Overrides): Generator<undefined, Uint8Array> {
    if (overrides === undefined || isOneStep(low, high, overrides)) return this.#subtree(low, high, overrides).slice();
    const middle = low + splitOf(high - low);
    const left = yield* this.#walk(low, middle, overrides);
    yield;
    yield* overrides.follow();
    const right = yield* this.#walk(middle, high, overrides);
    return joinNodes(left, right, this.hashNode);
  }

  /** Returns the node over leaves `low` to below `high`, with the overrides. It may be a view. */
  #subtree(low: number, high: number, overrides?: Overrides): Uint8Array {
    const width = high - low;
    if (this.#isKept(width) && !overrides?.isAny(low, high)) return this.#levels[this.#levelOf(width)]!.at(low / width);
    // A single leaf has an override here.
    if (width === 1) return overrides!.leaf(low);
    const middle = low + splitOf(width);
    const left = this.#subtree(low, middle, overrides);
    return joinNodes(left, this.#subtree(middle, high, overrides), this.hashNode);
  }

  /** Whether the nodes over complete subtrees of `width` leaves are in a level. */
  #isKept(width: number): boolean {
    return isPowerOfTwo(width) && (width === 1 || width >= this.#group);
  }

  /** Copies the node over leaves `low` to below `high`. */
  #copySubtree(low: number, high: number, target: Uint8Array, at: number): void {
    const width = high - low;
    if (this.#isKept(width)) this.#levels[this.#levelOf(width)]!.copy(low / width, target, at);
    else target.set(this.#subtree(low, high), at);
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

  /** Recomputes the node over complete rows of the level below. */
  #nodeAt(level: number, index: number): Uint8Array {
    const shift = this.#shiftTo(level);
    const rows = this.#levels[level - 1]!.rows(index << shift, 1 << shift);
    return shift === 1 ? this.hashNode(rows) : this.#groupNode(rows);
  }

  #isNode(number: number, leaves: Uint8Array): boolean {
    return Buffer.compare(this.#groupNode(leaves), this.#levels[1]!.at(number)) === 0;
  }

  /** Returns the node over a group of leaves. */
  #groupNode(leaves: Uint8Array): Uint8Array {
    group.set(leaves);
    for (let nodes = this.#group / 2; nodes >= 1; nodes /= 2)
      for (let i = 0; i < nodes; i++)
        this.hashNode(group.subarray(2 * i * HASH_BYTES, 2 * (i + 1) * HASH_BYTES), group, i * HASH_BYTES);
    return group.subarray(0, HASH_BYTES);
  }

  /** Returns log2 of the rows of the level below that a node of `level` covers. */
  #shiftTo(level: number): number {
    return level === 1 ? this.#groupShift : 1;
  }

  /** Returns the number of leaves below a node of `level`. */
  #leavesBelow(level: number): number {
    return level === 0 ? 1 : this.#group * 2 ** (level - 1);
  }

  /** Returns the kept level of nodes over `leaves` leaves. */
  #levelOf(leaves: number): number {
    return leaves === 1 ? 0 : 32 - Math.clz32(leaves) - this.#groupShift;
  }

  #assertHolds(index: number, size: number): void {
    if (!(Number.isInteger(index) && index >= 0 && index < size))
      throw new RangeError(`leaf ${index} of a tree of ${size}`);
  }
}

const group = new Uint8Array(USUAL_GROUP * HASH_BYTES);

/** Whether the node over leaves `low` to below `high` is computed without a pause. */
const isOneStep = (low: number, high: number, overrides?: Overrides): boolean =>
  high - low <= LEAVES_PER_STEP || !overrides?.isAny(low, high);

/** Returns the range of each sibling on the way to a leaf, from the root down: low and high, in turns. */
function siblingsOf(index: number, size: number): number[] {
  const ranges: number[] = [];
  let low = 0;
  let high = size;
  while (high - low > 1) {
    const middle = low + splitOf(high - low);
    if (index < middle) {
      ranges.push(middle, high);
      high = middle;
    } else {
      ranges.push(low, middle);
      low = middle;
    }
  }
  return ranges;
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** Returns the largest power of two below `n`, for `n` of at least 2. */
export const splitOf = (n: number): number => 1 << (31 - Math.clz32(n - 1));
