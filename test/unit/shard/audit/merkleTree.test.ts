// Covers: shard/audit/merkleTree.ts, shard/audit/merkleNode.ts, shard/audit/stateTree.ts, shard/audit/chunkedRows.ts
// Covers: shard/audit/leafJournal.ts, shard/audit/pastLeaves.ts
import { expect } from 'chai';
import { leafHash } from '../../../../shard/audit/leaf.js';
import { foldPath, foldWithoutLeaf } from '../../../../shard/audit/merkleNode.js';
import { MerkleTree, type Overrides } from '../../../../shard/audit/merkleTree.js';
import { hashStateNode, StateTree } from '../../../../shard/audit/stateTree.js';
import { EMPTY_HASH, hash, toHex } from '../../../../shared/hashing/hash.js';
import { atOnce } from '../../../../shared/scheduling/slice.js';
import { stateRoot } from '../../../../verifier/hashing.js';
import { auditPath, treeHash } from '../../../../verifier/tree.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { RECORDS, record } from '../../../support/rigs/leafRecords.js';

const leafOf = (number: number): Buffer => Buffer.from(hash(Buffer.from(`leaf ${number}`)));

function treeOf(leaves: readonly Uint8Array[]): MerkleTree {
  const tree = new MerkleTree(hashStateNode);
  tree.append(Buffer.concat(leaves));
  return tree;
}

function expectSame(tree: MerkleTree, leaves: readonly Buffer[], indices: readonly number[]): void {
  expect(tree.size).to.equal(leaves.length);
  expect(toHex(tree.mth()), `hash of ${leaves.length} leaves`).to.equal(toHex(treeHash(leaves)));
  for (const index of indices)
    expect(toHex(tree.path(index)), `path of ${index} in ${leaves.length}`).to.equal(
      Buffer.concat(auditPath(index, leaves)).toString('hex'),
    );
}

const replaced = (leaves: ReadonlyMap<number, Uint8Array>): Overrides => ({
  isAny: (low, high) => [...leaves.keys()].some((index) => index >= low && index < high),
  leaf: (index) => leaves.get(index)!,
  follow: function* () {},
});

/** Leaves of which some are absent, so that there are absent subtrees of all sizes. */
const randomLeaves = (random: SeededRandom, count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => (random.next() < 0.3 ? Buffer.alloc(32) : leafOf(i)));

describe('the Merkle tree', () => {
  it('equals the tree of RFC 6962 at every size up to 70, grown one leaf at a time', () => {
    const tree = new MerkleTree(hashStateNode);
    const leaves: Buffer[] = [];
    expectSame(tree, leaves, []);
    for (let size = 1; size <= 70; size++) {
      leaves.push(leafOf(size));
      tree.append(leafOf(size));
      expectSame(tree, leaves, [...leaves.keys()]);
    }
  });

  it('hashes each node once, for leaves in pieces of any size', () => {
    for (const pieces of [[1000], [1, 999], [511, 2, 487], Array.from({ length: 1000 }, () => 1)]) {
      let hashed = 0;
      const tree = new MerkleTree((...args) => {
        hashed++;
        return hashStateNode(...args);
      });
      let next = 0;
      for (const count of pieces) tree.append(Buffer.concat(Array.from({ length: count }, () => leafOf(next++))));
      expect(hashed, `${pieces.length} pieces`).to.equal(994);
      expect(toHex(tree.mth())).to.equal(toHex(treeHash(Array.from({ length: 1000 }, (_, i) => leafOf(i)))));
    }
  });

  it('equals a fresh tree after random appends, batches and changes', () => {
    const random = seededRandom(testSeed());
    const tree = new MerkleTree(hashStateNode);
    const leaves: Buffer[] = [];
    while (leaves.length < 2_000) {
      const added = randomLeaves(random, random.pick([1, 1, 3, 200]));
      tree.append(Buffer.concat(added));
      leaves.push(...added);
      for (let change = random.pick([0, 1, 7, 600]); change > 0; change--) {
        const index = random.int(leaves.length);
        leaves[index] = random.pick([Buffer.alloc(32), leafOf(random.int(1e6))]);
        tree.set(index, leaves[index]!);
      }
      if (random.next() < 0.3) expectSame(tree, leaves, [random.int(leaves.length), leaves.length - 1]);
    }
    expectSame(tree, leaves, [0, random.int(leaves.length)]);
  });

  it('computes any smaller tree with any leaves replaced, without changing itself', () => {
    const random = seededRandom(testSeed());
    const leaves = randomLeaves(random, 300);
    const tree = treeOf(leaves);
    for (const size of [...Array(71).keys(), 128, 129, 255, 256, 300]) {
      const past = leaves.slice(0, size);
      const indices = [...past.keys()].filter(() => random.next() < 0.1);
      for (const index of indices) past[index] = leafOf(1_000 + index);
      const then = { size, overrides: replaced(new Map(indices.map((index) => [index, past[index]!]))) };
      expect(toHex(atOnce(tree.pastMth(then))), `size ${size}`).to.equal(toHex(treeHash(past)));
      if (size === 0) continue;
      const index = random.int(size);
      expect(toHex(atOnce(tree.pastPath(index, then))), `path of ${index} in ${size}`).to.equal(
        Buffer.concat(auditPath(index, past)).toString('hex'),
      );
    }
    expectSame(tree, leaves, [0, 150, 299]);
  });

  it('leads from each leaf over its path to the hash, and to the previous tree', () => {
    const leaves = Array.from({ length: 70 }, (_, i) => leafOf(i));
    for (let size = 1; size <= leaves.length; size++) {
      const tree = treeOf(leaves.slice(0, size));
      const mth = toHex(tree.mth());
      for (let index = 0; index < size; index++)
        expect(toHex(foldPath(leaves[index]!, { index, leaves: size }, tree.path(index), hashStateNode))).to.equal(mth);
      const before = foldWithoutLeaf(tree.path(size - 1), hashStateNode);
      expect(toHex(before), `before ${size}`).to.equal(toHex(treeHash(leaves.slice(0, size - 1))));
    }
  });

  it('stays correct as its storage grows, in batches of any size', () => {
    for (const batch of [1, 1_000, 4_095, 9_001]) {
      const tree = new MerkleTree(hashStateNode);
      const leaves = Array.from({ length: 9_001 }, (_, i) => leafOf(i));
      for (let at = 0; at < leaves.length; at += batch) tree.append(Buffer.concat(leaves.slice(at, at + batch)));
      for (const index of [0, 4_095, 4_096, 8_191, 8_192, 9_000]) {
        expect(toHex(tree.leaf(index)), `leaf ${index}`).to.equal(toHex(leaves[index]!));
        leaves[index] = leafOf(10_000 + index);
        tree.set(index, leaves[index]!);
      }
      expectSame(tree, leaves, [4_096]);
    }
  });

  it('treats an absent subtree as absent, not as a hash', () => {
    const absent = treeOf(Array.from({ length: 100 }, () => EMPTY_HASH));
    expect(toHex(absent.mth())).to.equal('00'.repeat(32));
  });

  it('copies leaves in and out', () => {
    const leaf = leafOf(1);
    const tree = treeOf([leaf, leafOf(2)]);
    leaf.fill(0);
    tree.leaf(0).fill(0);
    tree.mth().fill(0);
    treeOf([leafOf(1)])
      .mth()
      .fill(0);
    expectSame(tree, [leafOf(1), leafOf(2)], [0, 1]);
  });

  it('refuses indices and sizes beyond its own', () => {
    const tree = treeOf([leafOf(1), leafOf(2)]);
    for (const act of [
      () => tree.leaf(2),
      () => tree.set(2, leafOf(3)),
      () => tree.path(-1),
      () => tree.path(0.5),
      () => tree.mthOf(3),
      () => tree.path(1, 1),
    ])
      expect(act).to.throw(RangeError);
  });
});

describe('the state tree', () => {
  const leaves = RECORDS.map((values) => (values === 'deleted' ? EMPTY_HASH : leafHash(values)));

  it('has the documented leaf and roots', () => {
    const tree = new StateTree();
    expect(toHex(tree.root())).to.equal('547f83193df20d9434f57bbb3c2bab0e20e05e7acd497837c5aa003532740337');
    tree.append(Buffer.concat(leaves));
    expect(toHex(leaves[6]!)).to.equal('74c4c0e3e0dc585d9f48fcf38f4ff7cdf8374fab47a872a6dae2f4a4adc9f7a3');
    expect(toHex(tree.root())).to.equal('87abd1239c4d36bbccc3726a944ed83f670a4bf02a21d3033a1e4b2c60123735');
  });

  it('gives a record the same leaf after a large record', () => {
    const large = leafHash({ ...record(1), vector: new Uint8Array(131_072).fill(7), text: Buffer.alloc(70_000, 'x') });
    expect(toHex(leafHash(record(1)))).to.equal(toHex(leaves[0]!));
    expect(toHex(large)).to.not.equal(toHex(leaves[0]!));
  });

  it('computes every past root and the effect of each write', () => {
    const random = seededRandom(testSeed());
    const tree = new StateTree();
    const now: Buffer[] = [];
    const past: { index: number; old: Buffer; leaves: Buffer[]; kind: string }[] = [];
    for (let sequence = 1; sequence <= 300; sequence++) {
      const leaf = leafOf(sequence);
      const isInsert = now.length === 0 || random.next() < 0.4;
      const index = isInsert ? now.length : random.int(now.length);
      const old = now[index] ?? Buffer.alloc(32);
      now[index] = leaf;
      if (isInsert) tree.append(leaf);
      else tree.change(index, leaf, sequence);
      past.push({ index, old, leaves: [...now], kind: isInsert ? 'insert' : 'change' });
    }
    for (const [at, { index, old, leaves: then, kind }] of past.entries()) {
      const root = toHex(stateRoot(BigInt(then.length), treeHash(then)));
      expect(toHex(atOnce(tree.pastRoot(then.length, at + 1))), `root after ${at + 1}`).to.equal(root);
      const write = atOnce(tree.pastWrite(index, then.length, at + 1));
      expect(write.kind, `kind of ${at + 1}`).to.equal(kind);
      expect(toHex(write.oldLeaf), `old leaf of ${at + 1}`).to.equal(toHex(old));
      expect(toHex(write.newLeaf), `new leaf of ${at + 1}`).to.equal(toHex(then[index]!));
      expect(toHex(write.path), `path of ${at + 1}`).to.equal(toHex(Buffer.concat(auditPath(index, then))));
    }
    expect(toHex(tree.root())).to.equal(toHex(stateRoot(BigInt(now.length), treeHash(now))));
  });

  it('computes a past write correctly while others are made', async () => {
    const random = seededRandom(testSeed());
    const tree = new StateTree();
    const size = 5_000;
    tree.append(Buffer.concat(Array.from({ length: size }, (_, i) => leafOf(i))));
    let sequence = size;
    const change = (): void => tree.change(random.int(size), leafOf(random.int(1e6)), ++sequence);
    const wanted = [1, 3_000].map((changes) => {
      for (let i = 0; i < changes; i++) change();
      const index = random.int(size);
      tree.change(index, EMPTY_HASH, ++sequence);
      return { index, sequence, write: atOnce(tree.pastWrite(index, size, sequence)) };
    });
    for (let i = 0; i < 3_000; i++) change();
    for (const { index, sequence: past, write } of wanted) {
      const walk = tree.pastWrite(index, size, past);
      let rests = 0;
      let step = walk.next();
      for (; !step.done; step = walk.next()) {
        rests++;
        change();
        tree.append(leafOf(sequence));
        if (rests % 3 === 0) tree.root();
      }
      expect(rests, 'rests').to.be.at.least(3);
      expect(step.value).to.deep.equal(write);
    }
  });

  it('refuses changes out of order, and writes that did not happen', () => {
    const tree = new StateTree();
    tree.append(Buffer.concat(leaves));
    tree.change(2, EMPTY_HASH, 9);
    expect(() => tree.change(3, EMPTY_HASH, 9)).to.throw(RangeError, 'change 9 comes after change 9');
    expect(() => atOnce(tree.pastWrite(1, 7, 9))).to.throw(RangeError, 'write 9 did not touch leaf 1 of 7');
  });
});
