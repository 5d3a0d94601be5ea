import { getHeapSpaceStatistics } from 'node:v8';
import { expect } from 'chai';
import { releaseMemory } from '../../../../shared/process/memoryAtRest.js';

/** Bytes that this process holds for young objects. */
const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')!.physical_space_size;

describe('memory that is released', () => {
  it('is given back, that of young objects too', async () => {
    let kept: object[] = [];
    for (let round = 0; round < 40; round++)
      kept = [...Array.from({ length: 20_000 }, (_, i) => ({ round, i })), ...kept.slice(0, 20_000)];
    expect(kept).to.have.length.above(0);
    const before = youngBytes();
    kept = [];
    await releaseMemory();
    expect(youngBytes()).to.be.below(before / 2);
  });
});
