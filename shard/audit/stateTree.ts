/**
 * The Merkle tree over a collection's records, at index record id − 1, over all ids ever assigned. It remembers what
 * each change replaced, so it can answer for the state after any past write.
 *
 * A past state is named by its number of leaves and the sequence of its last write.
 */
import { DOMAIN, EMPTY_HASH } from '../../shared/hashing/hash.js';
import { LeafJournal } from './leafJournal.js';
import { nodeHasher, rootHasher } from './merkleNode.js';
import { MerkleTree, type PastTree } from './merkleTree.js';
import { PastLeaves } from './pastLeaves.js';
import type { LeafSource } from './recomputedLeaves.js';

/** H(0x11 ‖ left ‖ right), or empty where both are. */
export const hashStateNode = nodeHasher(DOMAIN.stateNode);

/** H(0x12 ‖ u64 leaves ‖ Merkle tree hash). */
export const stateRoot = rootHasher(DOMAIN.stateRoot);

/** Few leaves: where they are not kept, a change of one hashes all of its group anew. */
const GROUP = 4;

/**
 * Leaves of records with more components are kept: 32 bytes are little beside those, and to hash the neighbours of a record
 * that changes would take as long as its write.
 */
const ANEW_DIMENSION_MAX = 256;

/** What a write did to the tree. The hashes are copies. */
export interface TreeWrite {
  readonly kind: 'insert' | 'change';
  /** Leaves after the write. */
  readonly leaves: number;
  /** Empty for an insert. */
  readonly oldLeaf: Uint8Array;
  readonly newLeaf: Uint8Array;
  /** Siblings in the tree after the write, 32 bytes each, bottom first. */
  readonly path: Uint8Array;
}

export class StateTree extends MerkleTree {
  readonly changes = new LeafJournal();
  /** The state root, while the tree has that many leaves and changes. */
  #root: { readonly hash: Uint8Array; readonly leaves: number; readonly changes: number } | undefined;

  /** `source`: hashes leaves anew, which then are not kept. */
  constructor(source?: LeafSource) {
    super(hashStateNode, { group: GROUP, source });
  }

  /** An empty tree over records of that dimension. `source`: the leaf of a record as it is in memory. */
  static over(dimension: number, source: LeafSource): StateTree {
    return new StateTree(dimension <= ANEW_DIMENSION_MAX ? source : undefined);
  }

  /**
   * The write `sequence` gives the record at `index` another leaf. Sequences ascend from change to change. If leaves are not
   * kept, `beforeChange` is called before the record changes.
   */
  change(index: number, leaf: Uint8Array, sequence: number): void {
    this.changes.add({ sequence, index, leaves: this.size, oldLeaf: this.leaf(index) });
    this.set(index, leaf);
  }

  /** Reads the leaf of a record that is about to change. */
  beforeChange(index: number): void {
    this.leaf(index);
  }

  /** The state root now. Kept until the next write. */
  root(): Uint8Array {
    const { size: leaves } = this;
    const { length: changes } = this.changes;
    if (this.#root?.leaves !== leaves || this.#root.changes !== changes)
      this.#root = { hash: stateRoot(leaves, this.mthOf(leaves)), leaves, changes };
    return this.#root.hash;
  }

  /**
   * The state root after the write `sequence`, when there were `leaves` leaves: a walk that yields where it may rest,
   * whatever is written meanwhile. Costs as `pastWrite`.
   */
  *pastRoot(leaves: number, sequence: number): Generator<undefined, Uint8Array> {
    return stateRoot(leaves, yield* this.pastMth(this.#pastTree(leaves, sequence)));
  }

  /** The number of leaves after the write `sequence`, which changed one. Throws RangeError where it did not. */
  leavesAfterChange(sequence: number): number {
    const change = this.changes.changeOf(sequence);
    if (change === undefined) throw new RangeError(`write ${sequence} changed no leaf`);
    return change.leaves;
  }

  /**
   * What the write `sequence` did to the record at `index`, with `leaves` leaves after it: a walk that yields where it
   * may rest, whatever is written meanwhile. Costs log2(leaves) hashes, and for each change made since a look and up to
   * as many hashes more. Throws RangeError where this write did not make or change the leaf.
   */
  *pastWrite(index: number, leaves: number, sequence: number): Generator<undefined, TreeWrite> {
    const change = this.changes.changeOf(sequence);
    if (change === undefined ? index !== leaves - 1 : index !== change.index || leaves !== change.leaves)
      throw new RangeError(`write ${sequence} did not touch leaf ${index} of ${leaves}`);
    const past = this.#pastTree(leaves, sequence);
    const path = yield* this.pastPath(index, past);
    return {
      kind: change === undefined ? 'insert' : 'change',
      leaves,
      oldLeaf: change?.oldLeaf ?? EMPTY_HASH.slice(),
      newLeaf: past.overrides.isAny(index, index + 1) ? past.overrides.leaf(index).slice() : this.leaf(index),
      path,
    };
  }

  #pastTree(size: number, sequence: number): Required<PastTree> {
    return { size, overrides: new PastLeaves(this.changes, sequence, size) };
  }
}
