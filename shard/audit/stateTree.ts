/**
 * The Merkle tree over a collection's records. The leaf of a record has index record id − 1; every id ever assigned has
 * one. The tree remembers the leaf that each change replaced, so it can compute any past state.
 *
 * A past state is named by its number of leaves and the sequence of its last write.
 */
import { DOMAIN, EMPTY_HASH } from '../../shared/hashing/hash.js';
import type { Receipt } from '../../shared/model/receipt.js';
import { Column } from '../kernel/column.js';
import { type LeafChange, LeafJournal } from './leafJournal.js';
import { nodeHasher, rootHasher } from './merkleNode.js';
import { MerkleTree, type PastTree } from './merkleTree.js';
import { PastLeaves } from './pastLeaves.js';
import type { LeafSource } from './recomputedLeaves.js';

/** Returns H(0x11 ‖ left ‖ right), or the empty hash if both are empty. */
export const hashStateNode = nodeHasher(DOMAIN.stateNode);

/** Returns H(0x12 ‖ u64 leaves ‖ Merkle tree hash). */
export const stateRoot = rootHasher(DOMAIN.stateRoot);

/** Few leaves, since without kept leaves a change recomputes its whole group. */
const GROUP = 4;

/**
 * Above this dimension leaves are kept. 32 bytes are little beside the record, and recomputing the neighbours of a
 * changed record would take as long as its write.
 */
const ANEW_DIMENSION_MAX = 256;

/** The effect of a write on the tree. Its hashes are copies. */
export interface TreeWrite {
  readonly kind: 'insert' | 'change';
  /** Number of leaves after the write. */
  readonly leaves: number;
  /** Replaced leaf; empty for an insert. */
  readonly oldLeaf: Uint8Array;
  readonly newLeaf: Uint8Array;
  /** Siblings in the tree after the write, 32 bytes each, bottom first. */
  readonly path: Uint8Array;
}

/** The root after the event `sequence`, as the receipt of that event states it. */
export type StatedRoot = Pick<Receipt, 'sequence' | 'new_root'>;

export class StateTree extends MerkleTree {
  readonly changes = new LeafJournal();
  /** The root that the last receipt states: the old root of the next event's receipt. */
  stated: StatedRoot | undefined;
  /** Sequence of the last change of each leaf, 1 to 4 bytes a leaf; none for 4,096 leaves of which none has changed. */
  readonly #changedBy = new Column(0);
  /** State root, valid while the tree has this number of leaves and changes. */
  #root: { readonly hash: Uint8Array; readonly leaves: number; readonly changes: number } | undefined;

  /** `source` recomputes leaves, which then are not kept. */
  constructor(source?: LeafSource) {
    super(hashStateNode, { group: GROUP, source });
  }

  /** Makes an empty tree over records of that dimension. `source` returns the leaf of a record in memory. */
  static over(dimension: number, source: LeafSource): StateTree {
    return new StateTree(dimension <= ANEW_DIMENSION_MAX ? source : undefined);
  }

  /**
   * Changes the leaf at `index` in the write `sequence`. Sequences ascend from change to change. If leaves are not
   * kept, call `beforeChange` before the record changes.
   */
  change(index: number, leaf: Uint8Array, sequence: number): void {
    this.restoreChange({ sequence, index, leaves: this.size, oldLeaf: this.leaf(index) });
    this.set(index, leaf);
  }

  /** Adds a change to the journal, whose leaf is set separately. */
  restoreChange(change: LeafChange): void {
    this.changes.add(change);
    this.#changedBy.set(change.index, change.sequence);
  }

  /** Returns the sequence of the last change of a leaf; 0 if it is as it was appended. */
  changedBy(index: number): number {
    return this.#changedBy.get(index);
  }

  /** Reads the leaf of a record that is about to change. */
  beforeChange(index: number): void {
    this.leaf(index);
  }

  /** Returns the current state root, cached until the next write. */
  root(): Uint8Array {
    const { size: leaves } = this;
    const { length: changes } = this.changes;
    if (this.#root?.leaves !== leaves || this.#root.changes !== changes)
      this.#root = { hash: stateRoot(leaves, this.mthOf(leaves)), leaves, changes };
    return this.#root.hash;
  }

  /**
   * Computes the state root after the write `sequence`, when the tree had `leaves` leaves. Yields where it may pause;
   * writes may happen in a pause. Costs as much as `pastWrite`.
   */
  *pastRoot(leaves: number, sequence: number): Generator<undefined, Uint8Array> {
    return stateRoot(leaves, yield* this.pastMth(this.pastTree(leaves, sequence)));
  }

  /** Returns the number of leaves after the write `sequence`. Throws RangeError if it changed no leaf. */
  leavesAfterChange(sequence: number): number {
    const change = this.changes.changeOf(sequence);
    if (change === undefined) throw new RangeError(`write ${sequence} changed no leaf`);
    return change.leaves;
  }

  /**
   * Computes the effect of the write `sequence` on the record at `index`, with `leaves` leaves after it. Yields where
   * it may pause; writes may happen in a pause. Costs log2(leaves) hashes. Each later change costs a look and up to as
   * many hashes. Throws RangeError if this write did not add or change the leaf.
   */
  *pastWrite(index: number, leaves: number, sequence: number): Generator<undefined, TreeWrite> {
    const recent = this.#recentWrite(index, leaves, sequence);
    if (recent !== undefined) return recent;
    const change = this.#assertTouched(index, leaves, sequence);
    const past = this.pastTree(leaves, sequence);
    const path = yield* this.pastPath(index, past);
    const newLeaf = past.overrides.isAny(index, index + 1) ? past.overrides.leaf(index).slice() : this.leaf(index);
    return writeOf(change, leaves, newLeaf, path);
  }

  /** Computes what `pastWrite` does, at once; undefined if a later write has changed a leaf. */
  #recentWrite(index: number, leaves: number, sequence: number): TreeWrite | undefined {
    if (this.changes.firstSince(sequence + 1) !== this.changes.length) return undefined;
    const change = this.#assertTouched(index, leaves, sequence);
    return writeOf(change, leaves, this.leaf(index), this.path(index, leaves));
  }

  /** Returns the change that the write made; undefined for an insert. */
  #assertTouched(index: number, leaves: number, sequence: number): LeafChange | undefined {
    const change = this.changes.changeOf(sequence);
    if (change === undefined ? index !== leaves - 1 : index !== change.index || leaves !== change.leaves)
      throw new RangeError(`write ${sequence} did not touch leaf ${index} of ${leaves}`);
    return change;
  }

  /** Returns the tree after the write `sequence`, when it had `size` leaves. Reading it costs a look at each later change. */
  pastTree(size: number, sequence: number): Required<PastTree> {
    return { size, overrides: new PastLeaves(this.changes, sequence, size) };
  }
}

const writeOf = (change: LeafChange | undefined, leaves: number, newLeaf: Uint8Array, path: Uint8Array): TreeWrite => ({
  kind: change === undefined ? 'insert' : 'change',
  leaves,
  oldLeaf: change?.oldLeaf ?? EMPTY_HASH,
  newLeaf,
  path,
});
