import { expect } from 'chai';
import { Slab } from '../../../shared/slab.js';

describe('a slab', () => {
  it('gives pieces of zeros that share no byte, also larger ones than itself', () => {
    const slab = new Slab();
    const pieces = [10, 65_530, 3, 100_000, 7].map((length, i) => slab.take(length).fill(i + 1));
    expect(pieces.map(({ length }) => length)).to.deep.equal([10, 65_530, 3, 100_000, 7]);
    expect(pieces.every((piece, i) => piece.every((byte) => byte === i + 1))).to.equal(true);
    expect(pieces[0]!.buffer).to.not.equal(pieces[1]!.buffer);
    expect([...slab.take(2)]).to.deep.equal([0, 0]);
  });
});
