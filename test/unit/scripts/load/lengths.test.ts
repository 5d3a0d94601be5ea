import { expect } from 'chai';
import { Lengths } from '../../../../scripts/load/lengths.js';
import { quantise } from '../../../../shared/fixedPoint.js';

describe('the lengths of loaded vectors', () => {
  const remarkOf = (...vectors: number[][]): string | undefined => {
    const lengths = new Lengths();
    for (const vector of vectors) lengths.add(new Uint8Array(quantise(vector).buffer));
    return lengths.remark;
  };

  it('are not mentioned where they differ by 5% or less, whatever they are', () => {
    expect(remarkOf()).to.equal(undefined);
    expect(remarkOf([1, 0], [0.6, 0.8], [0, 1.04])).to.equal(undefined);
    expect(remarkOf([300, 400], [0, -500])).to.equal(undefined);
    expect(remarkOf([0, 0], [1, 0])).to.equal(undefined);
  });

  it('are mentioned where they differ by more, with what to do for cosine', () => {
    expect(remarkOf([1, 0], [0, 1.06])).to.equal(
      'vectors are 1.00 to 1.06 long, so distances depend on length; for cosine load them into a collection that ' +
        '--create --normalise makes',
    );
    expect(remarkOf([32_767, 0], [0.5, 0])).to.match(/^vectors are 0\.500 to 32,800 long/);
  });
});
