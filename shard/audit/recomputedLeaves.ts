/**
 * Leaves of a tree whose content is in memory: they are recomputed when they are read, and take no memory. A group of
 * leaves is verified against the tree's node above it. So changed content is detected unless its leaf was changed too.
 *
 * ```text
 * Incomplete ──last leaf──▶ cached ──many others──▶ not in memory ──read, verified──▶ cached
 *                           cached ──set──▶ changed ──its node is hashed──▶ cached
 * ```
 */
import { HASH_BYTES } from '../../shared/limits.js';
import { Damaged } from '../../shared/log/damaged.js';
import { copyHash } from './merkleNode.js';

/** Leaves of a tree by index. `ChunkedRows` keeps them. */
export interface Leaves {
  readonly length: number;
  append(leaves: Uint8Array): void;
  /** Returns a view, valid until other groups are read. */
  at(index: number): Uint8Array;
  /** Copies a leaf to `target` from `to` on. A view of it would take longer, and be garbage. */
  copy(index: number, target: Uint8Array, to: number): void;
  /** Returns a view of a whole group, valid until other groups are read. */
  rows(first: number, count: number): Uint8Array;
  set(index: number, leaf: Uint8Array): void;
  /** Chunks of `ChunkedRows`; empty if leaves are not kept. */
  readonly chunks: readonly Uint8Array[];
  adopt(chunks: readonly Uint8Array[], length: number): void;
}

/** Returns the leaf of the content at an index. */
export type LeafSource = (index: number) => Uint8Array;

/** Groups cached for the next reads, besides changed ones: receipts of new records need their neighbours' leaves. */
const CACHED_GROUPS = 16;

export class RecomputedLeaves implements Leaves {
  readonly chunks: readonly Uint8Array[] = [];
  /** Cached groups by number, least recently used first. They include the incomplete group, and those with changes. */
  readonly #cached = new Map<number, Uint8Array>();
  readonly #changed = new Set<number>();
  #length = 0;
  /** Leaves of the last group. */
  #newest: Uint8Array = new Uint8Array();
  /** Memory of a group that was dropped. */
  #spare: Uint8Array | undefined;

  /**
   * `source` returns leaves of groups that are not cached. `isNode` verifies the leaves of a group against its node.
   * `group`: leaves per group.
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
        this.#cached.set(this.#length / this.group, this.#newest);
      }
      // A view of a single leaf would cost more than its copy.
      const leaf = leaves.length === HASH_BYTES ? leaves : leaves.subarray(taken, taken + HASH_BYTES);
      this.#newest.set(leaf, at * HASH_BYTES);
      this.#length++;
    }
  }

  at(index: number): Uint8Array {
    const at = (index % this.group) * HASH_BYTES;
    return this.#groupOf(index).subarray(at, at + HASH_BYTES);
  }

  copy(index: number, target: Uint8Array, to: number): void {
    copyHash(this.#groupOf(index), (index % this.group) * HASH_BYTES, target, to);
  }

  rows(first: number): Uint8Array {
    return this.#groupOf(first);
  }

  /** Whether the content at an index still has its leaf. */
  isIntact(index: number): boolean {
    try {
      const isCached = this.#cached.has(Math.floor(index / this.group));
      const leaf = this.at(index);
      return !isCached || Buffer.compare(leaf, this.source(index)) === 0;
    } catch (error) {
      if (error instanceof Damaged) return false;
      throw error;
    }
  }

  /** Changes a leaf. Its group must have been read before its content changed. */
  set(index: number, leaf: Uint8Array): void {
    const number = Math.floor(index / this.group);
    const cached = this.#cached.get(number);
    if (cached === undefined) throw new Error(`leaf ${index} was not read before its content changed`);
    cached.set(leaf, (index % this.group) * HASH_BYTES);
    this.#changed.add(number);
  }

  /** Call it when the nodes above all changed groups are hashed. */
  hashed(): void {
    this.#changed.clear();
    this.trim();
  }

  /** Drops the least recently used groups. */
  trim(): void {
    if (this.#cached.size <= CACHED_GROUPS + this.#changed.size) return;
    for (const [number, leaves] of this.#cached) {
      const isComplete = (number + 1) * this.group <= this.#length;
      if (!isComplete || this.#changed.has(number)) continue;
      this.#cached.delete(number);
      this.#spare = leaves;
      if (this.#cached.size <= CACHED_GROUPS + this.#changed.size) return;
    }
  }

  /** Takes over the leaves of a tree with this content. */
  adopt(chunks: readonly Uint8Array[], length: number): void {
    this.#length = length;
    const first = length - (length % this.group);
    if (first === length) return;
    const cached = this.#empty();
    // Chunks have equal lengths, of whole groups, unless there is only one.
    const at = (first * HASH_BYTES) % chunks[0]!.length;
    cached.set(chunks.at(-1)!.subarray(at, at + (length - first) * HASH_BYTES));
    this.#cached.set(first / this.group, cached);
    this.#newest = cached;
  }

  #groupOf(index: number): Uint8Array {
    const number = Math.floor(index / this.group);
    const cached = this.#cached.get(number) ?? this.#read(number);
    this.#cached.delete(number);
    this.#cached.set(number, cached);
    return cached;
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
        `records ${first + 1} to ${first + this.group} are not in memory as they were inserted; restart the shard to read them again`,
      );
    return leaves;
  }
}
