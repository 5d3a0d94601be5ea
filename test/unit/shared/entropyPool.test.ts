import { expect } from 'chai';
import { EntropyPool } from '../../../shared/entropyPool.js';

describe('a pool of random bytes', () => {
  const counted = () => {
    let next = 0;
    const blocks: Uint8Array[] = [];
    const pool = new EntropyPool((length) => {
      const block = Uint8Array.from({ length }, () => ++next % 251);
      blocks.push(block);
      return block;
    });
    const draw = (length: number): Uint8Array => {
      const target = new Uint8Array(length);
      pool.fill(target);
      return target;
    };
    return { draw, blocks };
  };

  it('gives each byte of a block once, and overwrites it', () => {
    const { draw, blocks } = counted();
    expect([...draw(3), ...draw(2)]).to.deep.equal([1, 2, 3, 4, 5]);
    expect(blocks.length).to.equal(1);
    expect([...blocks[0]!.subarray(0, 6)]).to.deep.equal([0, 0, 0, 0, 0, 6]);
  });

  it('draws a new block when the rest is too short, even for more than a block', () => {
    const { draw, blocks } = counted();
    const drawn = [draw(4_000), draw(100), draw(10_000)];
    expect(blocks.length).to.equal(3);
    expect(drawn.every((bytes) => bytes.every((byte, i) => i === 0 || byte === (bytes[i - 1]! + 1) % 251))).to.equal(
      true,
    );
    expect(drawn[1]![0]).to.equal(4_097 % 251);
  });
});
