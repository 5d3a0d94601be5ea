import { expect } from 'chai';
import { BuddyAllocator, classBytes } from '../../../../shard/kernel/buddyAllocator.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const MIB = 1 << 20;

describe('the buddy allocator', () => {
  const random = seededRandom(testSeed());

  it('rounds up to a power of two from 64 bytes', () => {
    expect([0, 1, 64, 65, 4_096, 4_097, MIB, 2 ** 31 + 1].map(classBytes)).to.deep.equal([
      64,
      64,
      64,
      128,
      4_096,
      8_192,
      MIB,
      2 ** 32,
    ]);
  });

  it('never allocates a byte twice, and merges all free blocks at last', () => {
    for (const [sizeBytes, largestBytes] of [
      [MIB, 2 ** 17],
      [2 ** 32, 2 ** 30],
    ] as const) {
      const allocator = new BuddyAllocator(sizeBytes);
      const taken = new Map<number, number>();
      for (let i = 0; i < 4_000; i++) {
        if (random.next() < 0.55) {
          const wanted = 1 + Math.floor(2 ** (random.next() * Math.log2(largestBytes)));
          const address = allocator.allocate(wanted);
          if (address !== undefined) taken.set(address, wanted);
        } else if (taken.size > 0) {
          const address = random.pick([...taken.keys()]);
          allocator.free(address);
          taken.delete(address);
        }
        if (i % 50 === 0) expectApart(taken, sizeBytes);
        expect(allocator.usedBytes).to.equal([...taken.values()].reduce((sum, size) => sum + classBytes(size), 0));
      }
      for (const address of taken.keys()) allocator.free(address);
      expect(allocator.usedBytes).to.equal(0);
      expect(allocator.allocate(sizeBytes)).to.equal(0);
    }
  });

  it('fills the range from its start, to the last byte', () => {
    const allocator = new BuddyAllocator(MIB);
    const addresses = Array.from({ length: 16 }, () => allocator.allocate(MIB / 16));
    expect(addresses).to.deep.equal(Array.from({ length: 16 }, (_, i) => (i * MIB) / 16));
    expect(allocator.allocate(1)).to.equal(undefined);
  });

  it('refuses to free an address that it did not allocate', () => {
    const allocator = new BuddyAllocator(MIB);
    const address = allocator.allocate(1_000)!;
    expect(() => allocator.free(address + 64)).to.throw('nothing is allocated');
    allocator.free(address);
    expect(() => allocator.free(address)).to.throw('nothing is allocated');
  });
});

function expectApart(taken: ReadonlyMap<number, number>, sizeBytes: number): void {
  let end = 0;
  for (const [address, wanted] of [...taken].sort(([a], [b]) => a - b)) {
    expect(address % classBytes(wanted), 'alignment').to.equal(0);
    expect(address, 'overlap').to.be.at.least(end);
    end = address + classBytes(wanted);
  }
  expect(end).to.be.at.most(sizeBytes);
}
