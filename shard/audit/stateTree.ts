/**
 * The Merkle tree over a collection's records, at index record id − 1, over all ids ever assigned. It remembers what
 * each change replaced, so that it can be asked about the state after any past write.
 *
 * A past state is named by the number of leaves it had and the sequence of its last write.
 */
import { EMPTY_HASH } from '../../shared/hash.js';
import { LeafJournal } from './leafJournal.js';
import { MerkleTree } from './merkleTree.js';
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
    this.#journal.add(sequence, index, this.#tree.leaf(index));
    this.#tree.set(index, leaf);
    this.#root = undefined;
  }

  /** The state root now. Kept until the next write. */
  root(): Uint8Array {
    this.#root ??= stateRoot(this.leaves, this.#tree.mth());
    return this.#root;
  }

  /** The state root after the write `sequence`, when there were `leaves` leaves. Costs as `writeAt`. */
  rootAt(leaves: number, sequence: number): Uint8Array {
    return stateRoot(leaves, this.#tree.mthAt(leaves, this.#journal.before(sequence + 1, leaves)));
  }

  /**
   * What the write `sequence` did to the record at `index`, when `leaves` leaves were there after it. Costs log2(leaves)
   * hashes for the newest write, and up to as many more for each change made since. Throws RangeError where it was not
   * this write that made or changed the leaf.
   */
  writeAt(index: number, leaves: number, sequence: number): TreeWrite {
    const replaced = this.#journal.replacedBy(sequence, index);
    if (replaced === undefined && index !== leaves - 1)
      throw new RangeError(`write ${sequence} did not touch leaf ${index} of ${leaves}`);
    const past = this.#journal.before(sequence + 1, leaves);
    const at = past.indices.indexOf(index);
    return {
      kind: replaced === undefined ? 'insert' : 'change',
      leaves,
      oldLeaf: replaced ?? EMPTY_HASH.slice(),
      newLeaf: past.leaves[at]?.slice() ?? this.#tree.leaf(index),
      path: this.#tree.pathAt(index, leaves, past),
    };
  }
}
