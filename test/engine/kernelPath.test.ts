import { expect } from 'chai';
import { narrowReach, scanPath, WIDE } from '../../shard/kernel/scanPath.js';
import { seededRandom, testSeed } from '../support/random.js';
import { Modelled } from './kernelOracle.js';

const DIMENSIONS = [1, 2, 3, 4, 5, 7, 100, 127, 128, 129, 768, 1_000, 4_096, 32_767, 32_768];
const fits = (dimension: number, reach: number): boolean => BigInt(dimension) * BigInt(reach) ** 2n < 2n ** 63n;

describe('the way through a block', () => {
  const random = seededRandom(testSeed());

  it('is narrow exactly as far as 64 bits hold every sum and 32 bits every difference', () => {
    for (const dimension of DIMENSIONS) {
      const reach = narrowReach(dimension);
      expect(fits(dimension, reach), `${dimension}`).to.equal(true);
      expect(reach === 2 ** 31 - 1 || !fits(dimension, reach + 1), `${dimension}`).to.equal(true);
      expect(scanPath(dimension, reach, reach)).not.to.equal(WIDE);
      expect(scanPath(dimension, reach + 1, reach)).to.equal(WIDE);
    }
    expect(narrowReach(128)).to.equal(2 ** 28 - 1);
    expect(narrowReach(1)).to.equal(2 ** 31 - 1);
  });

  it('has a sieve as long as its sums fit, with the smallest shift that allows it', () => {
    const path = (reach: number): number => scanPath(8, reach, narrowReach(8));
    expect([path(0), path(4_095 * 2 ** 4 - 1), path(4_095 * 2 ** 4)]).to.deep.equal([4, 4, 8]);
    expect([path(4_095 * 2 ** 8 - 1), path(4_095 * 2 ** 8)]).to.deep.equal([8, 12]);
    expect([path(4_095 * 2 ** 12 - 1), path(4_095 * 2 ** 12)]).to.deep.equal([12, 16]);
    expect([path(4_095 * 2 ** 16 - 1), path(4_095 * 2 ** 16)]).to.deep.equal([16, 0]);
    expect(scanPath(4, 100, narrowReach(4))).to.equal(0);
  });

  it('gives the same answer on both sides of every bound', async () => {
    for (const dimension of [1, 4, 5, 8, 128, 1_024, 1_032, 32_768]) {
      const bounds = [4, 8, 12, 16].map((shift) => 4_095 * 2 ** shift).concat(narrowReach(dimension));
      for (const bound of bounds) {
        for (const reach of [bound - 1, bound, bound + 1]) {
          const rowMax = Math.min(Math.floor(reach / 2) + random.int(3), 2 ** 31 - 1);
          const collection = new Modelled(dimension);
          // Full differences in all components make the largest sum there can be; the others leave it a little.
          for (let i = 0; i < (dimension > 2_000 ? 24 : 90); i++)
            collection.insert(new Int32Array(dimension).fill(rowMax).map((value) => value - random.int(i + 1)));
          await collection.check(new Int32Array(dimension).fill(rowMax - reach), 5);
        }
      }
    }
  });
});
