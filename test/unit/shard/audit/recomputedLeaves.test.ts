import { expect } from 'chai';
import { StateTree } from '../../../../shard/audit/stateTree.js';
import { EMPTY_HASH, hash, toHex } from '../../../../shared/hashing/hash.js';
import { Damaged } from '../../../../shared/log/damaged.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { auditPath, treeHash } from '../../../../verifier/tree.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const leafOf = (number: number): Buffer => Buffer.from(hash(Buffer.from(`leaf ${number}`)));

/** Leaves, and two trees over them: one that recomputes leaves, here by a lookup, and one that stores them. */
class Both {
  readonly now: Buffer[] = [];
  read = 0;
  readonly kept = new StateTree();
  readonly recomputed = new StateTree((index) => {
    this.read++;
    return this.now[index]!;
  });

  append(leaf: Buffer): void {
    this.now.push(leaf);
    for (const tree of [this.kept, this.recomputed]) tree.append(leaf);
  }

  change(index: number, leaf: Buffer, sequence: number): void {
    this.recomputed.beforeChange(index);
    this.now[index] = leaf;
    for (const tree of [this.kept, this.recomputed]) tree.change(index, leaf, sequence);
  }

  expectSame(read: (tree: StateTree) => unknown, what: string): void {
    expect(read(this.recomputed), what).to.deep.equal(read(this.kept));
  }
}

describe('a state tree that recomputes its leaves', () => {
  it('equals the tree that stores them, through random appends, changes and past reads', () => {
    const random = seededRandom(testSeed());
    const both = new Both();
    const writes: { index: number; leaves: number }[] = [];
    for (let sequence = 1; sequence <= 6_000; sequence++) {
      const isInsert = both.now.length === 0 || random.next() < 0.6;
      // Changes of old records, of new ones, and of neighbours one after another.
      const near = Math.max(0, both.now.length - 1 - random.int(40));
      const index = isInsert
        ? both.now.length
        : random.pick([near, random.int(both.now.length), sequence % both.now.length]);
      const leaf = random.next() < 0.2 ? Buffer.from(EMPTY_HASH) : leafOf(sequence);
      if (isInsert) both.append(leaf);
      else both.change(index, leaf, sequence);
      writes.push({ index, leaves: both.now.length });
      if (random.next() < 0.1) both.expectSame((tree) => toHex(tree.root()), `root after ${sequence}`);
      if (random.next() > 0.03) continue;
      const at = random.int(writes.length);
      const { index: written, leaves } = writes[at]!;
      both.expectSame((tree) => atOnce(tree.pastWrite(written, leaves, at + 1)), `write ${at + 1}`);
      both.expectSame((tree) => toHex(atOnce(tree.pastRoot(leaves, at + 1))), `root after ${at + 1}`);
      both.expectSame((tree) => toHex(tree.path(written)), `path of ${written}`);
      both.expectSame((tree) => toHex(tree.leaf(written)), `leaf ${written}`);
    }
    expect(toHex(both.recomputed.mth())).to.equal(toHex(treeHash(both.now)));
  });

  it('computes a past write correctly while others are made', () => {
    const random = seededRandom(testSeed());
    const both = new Both();
    const size = 1_000;
    for (let i = 0; i < size; i++) both.append(leafOf(i));
    let sequence = size;
    const change = (): void => both.change(random.int(size), leafOf(random.int(1e6)), ++sequence);
    for (let i = 0; i < 300; i++) change();
    const index = random.int(size);
    both.change(index, leafOf(1e6), ++sequence);
    const expected = atOnce(both.kept.pastWrite(index, size, sequence));
    const walk = both.recomputed.pastWrite(index, size, sequence);
    for (let i = 0; i < 3_000; i++) change();
    let step = walk.next();
    for (; !step.done; step = walk.next()) {
      change();
      both.append(leafOf(sequence));
    }
    expect(step.value).to.deep.equal(expected);
  });

  it('reads no content for appends and for receipts of new records', () => {
    const both = new Both();
    for (let sequence = 1; sequence <= 1_000; sequence++) {
      both.append(leafOf(sequence));
      both.expectSame((tree) => atOnce(tree.pastWrite(sequence - 1, sequence, sequence)), `write ${sequence}`);
    }
    expect(both.read).to.equal(0);
    both.change(100, leafOf(0), 1_001);
    both.change(101, leafOf(1), 1_002);
    expect(both.read, 'the leaves of a group').to.equal(4);
  });

  it('adopts a tree of any size', () => {
    for (const size of [...Array(20).keys(), 1_023, 1_024, 1_025, 2_048, 2_101]) {
      const now = Array.from({ length: size }, (_, i) => leafOf(i));
      const other = new StateTree();
      other.append(Buffer.concat(now));
      const tree = new StateTree((index) => now[index]!);
      tree.adopt(other.hashes());
      for (let i = 0; i < 9; i++) {
        if (now.length > 0)
          expect(toHex(tree.path(now.length - 1)), `path in ${now.length}`).to.equal(
            Buffer.concat(auditPath(now.length - 1, now)).toString('hex'),
          );
        expect(toHex(tree.mth()), `size ${now.length}`).to.equal(toHex(treeHash(now)));
        now.push(leafOf(size + i));
        tree.append(now.at(-1)!);
      }
    }
  });

  it('detects a leaf that changed without a call, before it is hashed into a node', () => {
    const both = new Both();
    for (let i = 0; i < 500; i++) both.append(leafOf(i));
    const root = toHex(both.recomputed.root());
    const intact = (): number[] => [...both.now.keys()].filter((i) => !both.recomputed.isIntact(i, () => both.now[i]!));
    expect(intact()).to.deep.equal([]);
    both.now[100] = leafOf(7);
    expect(intact(), 'its group').to.deep.equal([100, 101, 102, 103]);
    expect(() => both.recomputed.beforeChange(101)).to.throw(
      Damaged,
      'records 101 to 104 are not in memory as they were inserted',
    );
    both.recomputed.beforeChange(105);
    expect(toHex(both.recomputed.root())).to.equal(root);
    both.append(leafOf(1));
    both.now[500] = leafOf(7);
    expect(
      both.recomputed.isIntact(500, () => both.now[500]!),
      'in an incomplete group',
    ).to.equal(false);
  });

  it('refuses a change whose leaf was not read before', () => {
    const both = new Both();
    for (let i = 0; i < 500; i++) both.append(leafOf(i));
    expect(() => both.recomputed.set(3, leafOf(9))).to.throw(Error, 'leaf 3 was not read before its content changed');
  });
});
