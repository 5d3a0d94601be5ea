/**
 * The leaves of a tree whose content is at hand: they are hashed anew when they are read, and take no memory. They come in
 * groups, each below one node of the tree, against which the leaves of a group are verified: content that has changed
 * without a change of its leaf is noticed.
 *
 *   incomplete ──last leaf──▶ held ──many others──▶ not in memory ──read, verified──▶ held
 *                             held ──set──▶ changed ──its node is hashed──▶ held
 */
import { HASH_BYTES } from '../../shared/limits.js';
import { Damaged } from '../../shared/log/damaged.js';

/** Leaves of a tree by index. `ChunkedRows` keeps them. */
export interface Leaves {
  readonly length: number;
  append(leaves: Uint8Array): void;
  /** A view, until other groups are read. */
  at(index: number): Uint8Array;
  /** A view of a whole group, until other groups are read. */
  rows(first: number, count: number): Uint8Array;
  set(index: number, leaf: Uint8Array): void;
  /** The chunks of `ChunkedRows`; of leaves that are not kept, none. */
  readonly chunks: readonly Uint8Array[];
  adopt(chunks: readonly Uint8Array[], length: number): void;
}

/** The leaf of the content at an index. */
export type LeafSource = (index: number) => Uint8Array;

/** Groups that are held for the next reads, beside changed ones: receipts of new records need their neighbours' leaves. */
const HELD_GROUPS = 16;

export class RecomputedLeaves implements Leaves {
  readonly chunks: readonly Uint8Array[] = [];
  /** By group number, the last used last. The incomplete group is always here, and so are those with changes. */
  readonly #held = new Map<number, Uint8Array>();
  readonly #changed = new Set<number>();
  #length = 0;
  /** The leaves of the last group. */
  #newest: Uint8Array = new Uint8Array();
  /** Memory of a group that is not held any more. */
  #spare: Uint8Array | undefined;

  /**
   * `source`: asked for leaves of groups that are not held. `isNode`: whether the leaves of a group are those below its node.
   * `group`: the leaves of a group.
   */
  constructor(
    private readonly source: LeafSource,
    private readonly isNode: (group: number, leaves: Uint8Array) => boolean,
    private readonly group: number,
  ) {}

  get length(): number {
    return this.#length;
  }

  append(leaves: Uint8Array): void {
    for (let taken = 0; taken < leaves.length; taken += HASH_BYTES) {
      const at = this.#length % this.group;
      if (at === 0) {
        this.#newest = this.#empty();
        this.#held.set(this.#length / this.group, this.#newest);
      }
      this.#newest.set(leaves.subarray(taken, taken + HASH_BYTES), at * HASH_BYTES);
      this.#length++;
    }
  }

  at(index: number): Uint8Array {
    const at = (index % this.group) * HASH_BYTES;
    return this.#groupOf(index).subarray(at, at + HASH_BYTES);
  }

  rows(first: number): Uint8Array {
    return this.#groupOf(first);
  }

  /** Whether the content at an index still has its leaf. */
  isIntact(index: number): boolean {
    try {
      const isHeld = this.#held.has(Math.floor(index / this.group));
      const leaf = this.at(index);
      return !isHeld || Buffer.compare(leaf, this.source(index)) === 0;
    } catch (error) {
      if (error instanceof Damaged) return false;
      throw error;
    }
  }

  /** The group of the leaf must have been read before its content changed. */
  set(index: number, leaf: Uint8Array): void {
    const number = Math.floor(index / this.group);
    const held = this.#held.get(number);
    if (held === undefined) throw new Error(`leaf ${index} was not read before its content changed`);
    held.set(leaf, (index % this.group) * HASH_BYTES);
    this.#changed.add(number);
  }

  /** The nodes above all changed groups are hashed. */
  hashed(): void {
    this.#changed.clear();
    this.trim();
  }

  /** Lets go of the groups used longest ago. */
  trim(): void {
    if (this.#held.size <= HELD_GROUPS + this.#changed.size) return;
    for (const [number, leaves] of this.#held) {
      const isComplete = (number + 1) * this.group <= this.#length;
      if (!isComplete || this.#changed.has(number)) continue;
      this.#held.delete(number);
      this.#spare = leaves;
      if (this.#held.size <= HELD_GROUPS + this.#changed.size) return;
    }
  }

  /** Takes over the leaves of a tree with this content. */
  adopt(chunks: readonly Uint8Array[], length: number): void {
    this.#length = length;
    const first = length - (length % this.group);
    if (first === length) return;
    const held = this.#empty();
    // All chunks but a sole one are of one length, of whole groups.
    const at = (first * HASH_BYTES) % chunks[0]!.length;
    held.set(chunks.at(-1)!.subarray(at, at + (length - first) * HASH_BYTES));
    this.#held.set(first / this.group, held);
    this.#newest = held;
  }

  #groupOf(index: number): Uint8Array {
    const number = Math.floor(index / this.group);
    const held = this.#held.get(number) ?? this.#read(number);
    this.#held.delete(number);
    this.#held.set(number, held);
    return held;
  }

  #empty(): Uint8Array {
    const leaves = this.#spare ?? new Uint8Array(this.group * HASH_BYTES);
    this.#spare = undefined;
    return leaves;
  }

  #read(number: number): Uint8Array {
    this.trim();
    const leaves = this.#empty();
    const first = number * this.group;
    for (let i = 0; i < this.group; i++) leaves.set(this.source(first + i), i * HASH_BYTES);
    if (!this.isNode(number, leaves))
      throw new Damaged(
        `records ${first + 1} to ${first + this.group} are not in memory as they were inserted; a restart reads them anew`,
      );
    return leaves;
  }
}
