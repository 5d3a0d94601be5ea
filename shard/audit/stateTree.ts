/**
 * The Merkle tree over a collection's records, at index record id − 1, over all ids ever assigned. It remembers what
 * each change replaced, so that it can be asked about the state after any past write.
 *
 * A past state is named by the number of leaves it had and the sequence of its last write.
 */
import { EMPTY_HASH } from '../../shared/hash.js';
import { LeafJournal } from './leafJournal.js';
import { finish, MerkleTree, type PastTree, type TreeHashes } from './merkleTree.js';
import { PastLeaves } from './pastLeaves.js';
import { hashStateNode, stateRoot } from './stateNode.js';

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

export class StateTree {
  readonly #tree = new MerkleTree(hashStateNode);
  readonly #journal = new LeafJournal();
  #root: Uint8Array | undefined;

  get leaves(): number {
    return this.#tree.size;
  }

  /** Leaves of new records, in the order of their ids, one after another in `leafHashes`. */
  append(leafHashes: Uint8Array): void {
    this.#tree.append(leafHashes);
    this.#root = undefined;
  }

  /** The write `sequence` gives the record at `index` another leaf. Sequences ascend from change to change. */
  change(index: number, leaf: Uint8Array, sequence: number): void {
    this.#journal.add(sequence, index, this.leaves, this.#tree.leaf(index));
    this.#tree.set(index, leaf);
    this.#root = undefined;
  }

  /** A copy. */
  leaf(index: number): Uint8Array {
    return this.#tree.leaf(index);
  }

  /** Of every change of a leaf there was, for a snapshot: oldest first. */
  get changes(): LeafJournal {
    return this.#journal;
  }

  /** Becomes the tree of these hashes, while it is empty; the changes that led to it are added to `changes`. */
  adopt(hashes: TreeHashes): void {
    this.#tree.adopt(hashes);
    this.#root = undefined;
  }

  /** The state root now. Kept until the next write. */
  root(): Uint8Array {
    this.#root ??= stateRoot(this.leaves, this.#tree.mth());
    return this.#root;
  }

  /** The state root after the write `sequence`, when there were `leaves` leaves. Costs as `pastWrite`. */
  rootAt(leaves: number, sequence: number): Uint8Array {
    return stateRoot(leaves, finish(this.#tree.pastMth(this.#pastTree(leaves, sequence))));
  }

  /** `rootAt` as a walk that yields where it may rest, whatever is written meanwhile. */
  *pastRoot(leaves: number, sequence: number): Generator<undefined, Uint8Array> {
    return stateRoot(leaves, yield* this.#tree.pastMth(this.#pastTree(leaves, sequence)));
  }

  /** How many leaves there were after the write `sequence`, which changed one. Throws RangeError where it did not. */
  leavesAfterChange(sequence: number): number {
    const change = this.#journal.changeOf(sequence);
    if (change === undefined) throw new RangeError(`write ${sequence} changed no leaf`);
    return change.leaves;
  }

  /** `pastWrite` without a rest: for the newest write, which costs log2(leaves) hashes. */
  writeAt(index: number, leaves: number, sequence: number): TreeWrite {
    return finish(this.pastWrite(index, leaves, sequence));
  }

  /**
   * What the write `sequence` did to the record at `index`, when `leaves` leaves were there after it: a walk that yields
   * where it may rest, whatever is written meanwhile. Costs log2(leaves) hashes, and for each change made since a look
   * and up to as many hashes more. Throws RangeError where it was not this write that made or changed the leaf.
   */
  *pastWrite(index: number, leaves: number, sequence: number): Generator<undefined, TreeWrite> {
    const change = this.#journal.changeOf(sequence);
    if (change === undefined ? index !== leaves - 1 : index !== change.index || leaves !== change.leaves)
      throw new RangeError(`write ${sequence} did not touch leaf ${index} of ${leaves}`);
    const past = this.#pastTree(leaves, sequence);
    const path = yield* this.#tree.pastPath(index, past);
    return {
      kind: change === undefined ? 'insert' : 'change',
      leaves,
      oldLeaf: change?.oldLeaf ?? EMPTY_HASH.slice(),
      newLeaf: past.overrides.isAny(index, index + 1) ? past.overrides.leaf(index).slice() : this.#tree.leaf(index),
      path,
    };
  }

  #pastTree(size: number, sequence: number): PastTree {
    return { size, overrides: new PastLeaves(this.#journal, sequence, size) };
  }
}
