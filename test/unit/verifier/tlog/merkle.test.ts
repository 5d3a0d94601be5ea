import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { concat, fromHex, toHex, u8 } from '../../../../verifier/bytes.js';
import {
  EMPTY_ROOT,
  Frontier,
  isConsistent,
  leafHash,
  rootFromPath,
  TileTree,
  tileWidth,
} from '../../../../verifier/index.js';
import { nodeHash } from '../../../../verifier/tlog/merkle.js';

/** Leaves and roots with which implementations of RFC 6962 are tested. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

const sha256 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(bytes).digest());

/** Root by the definition of RFC 6962: MTH(D[n]). */
function rootByDefinition(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array(0));
  if (leaves.length === 1) return leaves[0]!;
  let k = 1;
  while (2 * k < leaves.length) k *= 2;
  return sha256(concat([u8(1), rootByDefinition(leaves.slice(0, k)), rootByDefinition(leaves.slice(k))]));
}

const leavesOf = (size: number): Uint8Array[] =>
  Array.from({ length: size }, (_, i) => leafHash(Uint8Array.of(i, i >> 8)));

function treeOf(leaves: readonly Uint8Array[]): TileTree {
  const levels = [leaves];
  while (levels.at(-1)!.length >= 256) {
    const below = levels.at(-1)!;
    levels.push(
      Array.from({ length: Math.floor(below.length / 256) }, (_, i) =>
        rootByDefinition(below.slice(256 * i, 256 * (i + 1))),
      ),
    );
  }
  return new TileTree(leaves.length, async ({ level, index, width }) => {
    expect(width).to.equal(tileWidth(leaves.length, level, index));
    return concat(levels[level as number]!.slice(256 * index, 256 * index + width));
  });
}

describe('the trees of logs', () => {
  it('have the roots of RFC 6962', () => {
    const frontier = new Frontier();
    expect(toHex(frontier.root())).to.equal('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    for (const [i, leaf] of LEAVES.entries()) {
      frontier.append(leafHash(fromHex(leaf)));
      expect(toHex(frontier.root())).to.equal(ROOTS[i]);
    }
  });

  it('compute a root from the frontier alone, resumed at any size', () => {
    const leaves = leavesOf(70);
    let frontier = new Frontier();
    for (const [i, leaf] of leaves.entries()) {
      frontier.append(leaf);
      expect(frontier.root()).to.deep.equal(rootByDefinition(leaves.slice(0, i + 1)));
      frontier = new Frontier(frontier.size, frontier.peaks);
    }
    expect(() => new Frontier(3, [leaves[0]!])).to.throw('2 peaks, not 1');
  });

  it('prove their leaves and earlier sizes, from tiles', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1200 }), fc.nat(), fc.nat(), async (size, leaf, earlier) => {
        const leaves = leavesOf(size);
        const [index, from] = [leaf % size, earlier % (size + 1)];
        const tree = treeOf(leaves);
        const root = rootByDefinition(leaves);
        expect(await tree.root()).to.deep.equal(root);
        const path = await tree.inclusion(index);
        expect(rootFromPath(leaves[index]!, index, size, path)).to.deep.equal(root);
        const before = { size: from, root: rootByDefinition(leaves.slice(0, from)) };
        const proof = await tree.consistency(from);
        expect(isConsistent(before, { size, root }, proof)).to.equal(true);
        if (from === 0) return;
        const forged = { size: from, root: nodeHash(before.root, root) };
        expect(isConsistent(forged, { size, root }, proof)).to.equal(false);
        if (from === size) return;
        expect(isConsistent(before, { size, root: before.root }, proof)).to.equal(false);
        for (const wrong of [[...proof, root], proof.slice(0, -1), proof.map((hash) => hash.with(0, hash[0]! ^ 1))])
          expect(isConsistent(before, { size, root }, wrong)).to.equal(false);
      }),
      { numRuns: 40 },
    );
  });

  it('refuse a path of another length or leaf, and a shorter tree', () => {
    const leaves = leavesOf(5);
    const [a, b, c, d, e] = leaves as [Uint8Array, Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const path = [d, nodeHash(a, b), e];
    const root = rootByDefinition(leaves);
    expect(rootFromPath(c, 2, 5, path)).to.deep.equal(root);
    for (const [index, size, way] of [
      [2, 5, path.slice(1)],
      [2, 5, [...path, e]],
      [5, 5, path],
      [0, 1, path],
    ] as const)
      expect(rootFromPath(c, index, size, way)).to.equal(undefined);
    expect(rootFromPath(c, 3, 5, path)).to.not.deep.equal(root);
    expect(isConsistent({ size: 5, root }, { size: 4, root }, [])).to.equal(false);
    expect(isConsistent({ size: 0, root }, { size: 5, root }, [])).to.equal(false);
    expect(isConsistent({ size: 0, root: EMPTY_ROOT }, { size: 5, root }, [a])).to.equal(false);
  });
});
