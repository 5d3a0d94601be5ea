import { expect } from 'chai';
import { LogTree } from '../../../../shard/audit/logTree.js';
import { hash, toHex } from '../../../../shared/hashing/hash.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { checkConsistency, checkInclusion, H, logRootOf, subproof } from './logOracle.js';

const LOG_MAX = 70;

const heads = (seed: string, count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => Buffer.from(hash(Buffer.from(`${seed} ${i}`))));

function treeOf(leaves: readonly Buffer[]): LogTree {
  const tree = new LogTree();
  for (const leaf of leaves) tree.append(leaf);
  return tree;
}

describe('the log tree', () => {
  const leaves = heads('log', LOG_MAX);
  const tree = treeOf(leaves);
  const roots = Array.from({ length: LOG_MAX + 1 }, (_, size) => toHex(tree.root(size)));

  it('has the root of RFC 9162 at every size, also after later appends', () => {
    for (let size = 0; size <= LOG_MAX; size++) {
      expect(roots[size], `size ${size}`).to.equal(logRootOf(leaves.slice(0, size)));
      expect(toHex(treeOf(leaves.slice(0, size)).root(size))).to.equal(roots[size]);
    }
    expect(new Set(roots).size).to.equal(LOG_MAX + 1);
    expect(roots[0]).to.equal(toHex(H(Buffer.of(2), Buffer.alloc(8), Buffer.alloc(32))));
  });

  it('proves each event at its place in each log that has it, and at no other place', () => {
    for (let size = 1; size <= LOG_MAX; size++)
      for (let sequence = 0; sequence < size; sequence++) {
        const path = tree.path(sequence, size);
        const what = `event ${sequence} in ${size}`;
        expect(checkInclusion(leaves[sequence]!, sequence, size, path), what).to.equal(roots[size]);
        expect(path.length / 32, what).to.be.at.most(Math.ceil(Math.log2(size)));
        // A path of another length is refused; one of equal length leads elsewhere.
        for (const other of [sequence - 1, sequence + 1, size - 1])
          if (other !== sequence && other >= 0 && other < size)
            expect(
              checkInclusion(leaves[sequence]!, other, size, path),
              `${what}, claimed to be ${other}`,
            ).to.not.equal(roots[size]);
      }
  });

  it('proves each log to be a prefix of each later one, with the nodes of RFC 9162', () => {
    for (let to = 0; to <= LOG_MAX; to++)
      for (let from = 0; from <= to; from++) {
        const nodes = tree.consistency(from, to);
        const what = `${from} of ${to}`;
        const plain = from === 0 || from === to ? [] : subproof(from, leaves.slice(0, to));
        expect(toHex(nodes), what).to.equal(Buffer.concat(plain).toString('hex'));
        expect(checkConsistency(from, to, roots[from]!, roots[to]!, nodes), what).to.equal(true);
      }
  });

  it('proves no event or prefix of another history', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 300; round++) {
      const to = 2 + random.int(LOG_MAX - 1);
      const from = 1 + random.int(to - 1);
      const changed = random.int(from);
      const other = leaves.slice(0, to);
      // Another history from one event on: every later chain head differs too.
      const forked = [...other.slice(0, changed), ...heads(`fork ${round}`, to - changed)];
      const its = treeOf(forked);
      const what = `round ${round}: ${from} of ${to}, forked at ${changed}`;
      const rootsOf = (log: LogTree, size: number): string => toHex(log.root(size));
      for (const [older, newer, nodes] of [
        [tree, its, its.consistency(from, to)],
        [its, tree, tree.consistency(from, to)],
        [tree, its, tree.consistency(from, to)],
      ] as const) {
        expect(checkConsistency(from, to, rootsOf(older, from), rootsOf(newer, to), nodes), what).to.equal(false);
      }
      const sequence = changed + random.int(to - changed);
      const path = its.path(sequence, to);
      expect(checkInclusion(leaves[sequence]!, sequence, to, path), what).to.not.equal(rootsOf(its, to));
      expect(checkInclusion(forked[sequence]!, sequence, to, path), what).to.not.equal(rootsOf(tree, to));
    }
  });

  it('proves nothing with any bit of a proof flipped', () => {
    for (const [from, to] of [
      [6, 7],
      [4, 13],
      [33, LOG_MAX],
    ] as const) {
      const nodes = tree.consistency(from, to);
      const path = tree.path(from, to);
      for (let bit = 0; bit < 8 * nodes.length; bit++) {
        const forged = Uint8Array.from(nodes);
        forged[bit >> 3]! ^= 1 << (bit & 7);
        expect(checkConsistency(from, to, roots[from]!, roots[to]!, forged), `bit ${bit}`).to.equal(false);
      }
      for (let bit = 0; bit < 8 * path.length; bit++) {
        const forged = Uint8Array.from(path);
        forged[bit >> 3]! ^= 1 << (bit & 7);
        expect(checkInclusion(leaves[from]!, from, to, forged), `bit ${bit}`).to.not.equal(roots[to]);
      }
    }
  });

  it('refuses sizes and sequences beyond its own', () => {
    for (const act of [
      () => tree.path(70, 70),
      () => tree.path(3, 71),
      () => tree.root(71),
      () => tree.consistency(1, 71),
      () => tree.chainHead(70),
    ])
      expect(act).to.throw(RangeError);
  });
});
