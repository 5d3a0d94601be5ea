import { expect } from 'chai';
import { narrowReach } from '../../../../shard/kernel/blockShape.js';
import { DIMENSION_MAX } from '../../../../shared/limits.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';
import { Modelled } from './kernelOracle.js';

const fits = (dimension: number, reach: number): boolean => BigInt(dimension) * BigInt(reach) ** 2n < 2n ** 63n;

describe('the narrow path through a block', () => {
  const random = seededRandom(testSeed());

  it('is used exactly while every sum fits 64 bits and every difference 32 bits', () => {
    for (let dimension = 1; dimension <= DIMENSION_MAX; dimension++) {
      const reach = narrowReach(dimension);
      const isLargest = fits(dimension, reach) && (reach === 2 ** 31 - 1 || !fits(dimension, reach + 1));
      if (!isLargest) expect.fail(`${dimension}`);
    }
    expect(narrowReach(128)).to.equal(2 ** 28 - 1);
    expect(narrowReach(1)).to.equal(2 ** 31 - 1);
  });

  it('gives the right result on both sides of every bound', async () => {
    for (const dimension of [1, 4, 5, 8, 128, 1_024, 1_032, 32_768]) {
      // Rows have codes up to half of the bound, less a little.
      for (const bound of [narrowReach(dimension) - 256, narrowReach(dimension)]) {
        for (const reach of [bound - 1, bound, bound + 1]) {
          const rowMax = Math.min(Math.floor(reach / 2) + random.int(3), 2 ** 31 - 1);
          const collection = new Modelled(dimension);
          // Full differences in all components make the largest possible sum; the other rows are slightly below.
          for (let i = 0; i < (dimension > 2_000 ? 24 : 90); i++)
            collection.insert(new Int32Array(dimension).fill(rowMax).map((value) => value - random.int(i + 1)));
          await collection.check(new Int32Array(dimension).fill(rowMax - reach), 5);
        }
      }
    }
  });
});
