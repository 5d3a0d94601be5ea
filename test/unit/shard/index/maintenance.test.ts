import { expect } from 'chai';
import { kindFor, nextStep, type ServingGeneration } from '../../../../shard/index/maintenance.js';

const serving = (changes: Partial<ServingGeneration> = {}): ServingGeneration => ({
  kind: 'hnsw',
  indexed: true,
  covered: 100_000,
  garbage: 0,
  trainedRows: 100_000,
  tail: 0,
  capacityLeft: 1_000,
  absorbs: true,
  refused: 0,
  unsaved: 0,
  ...changes,
});

/** Number of rows for which an exact scan takes as long as an index. */
const WORTH_ROWS = 6_000;

describe('the next step of maintenance', () => {
  it('is a build for kind auto from 10,000 rows on, and a drop below 5,000', () => {
    expect(kindFor('auto', 9_999, undefined, WORTH_ROWS)).to.equal('brute');
    expect(kindFor('auto', 10_000, undefined, WORTH_ROWS)).to.equal('hnsw');
    expect(kindFor('auto', 5_000, 'hnsw', WORTH_ROWS)).to.equal('hnsw');
    expect(kindFor('auto', 4_999, 'hnsw', WORTH_ROWS)).to.equal('brute');
    expect(nextStep('auto', 10_000, undefined, WORTH_ROWS)).to.equal('build');
    expect(nextStep('auto', 4_999, serving({ covered: 4_999 }), WORTH_ROWS)).to.equal('drop');
  });

  it('is a build for kind auto once an index beats a scan, and a drop below half', () => {
    expect(kindFor('auto', 13_999, undefined, 14_000)).to.equal('brute');
    expect(kindFor('auto', 14_000, undefined, 14_000)).to.equal('hnsw');
    expect(kindFor('auto', 7_000, 'hnsw', 14_000)).to.equal('hnsw');
    expect(kindFor('auto', 6_999, 'hnsw', 14_000)).to.equal('brute');
  });

  it('is a build for a requested kind at any size', () => {
    expect(kindFor('ivf', 0, undefined, WORTH_ROWS)).to.equal('ivf');
    expect(nextStep('ivf', 0, undefined, WORTH_ROWS)).to.equal('build');
    expect(nextStep('brute', 1_000_000, undefined, WORTH_ROWS)).to.equal('nothing');
  });

  it('is a build if another kind than the desired one serves', () => {
    expect(nextStep('bq', 100_000, serving(), WORTH_ROWS)).to.equal('build');
  });

  it('is a build once there are enough rows for an index', () => {
    const unindexed = serving({ indexed: false, covered: 0, tail: 999 });
    expect(nextStep('hnsw', 999, unindexed, WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 1_000, unindexed, WORTH_ROWS)).to.equal('build');
  });

  it('absorbs a short tail, and extends the saved build by a long one', () => {
    expect(nextStep('hnsw', 100_010, serving({ tail: 10 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 112_500, serving({ tail: 12_500 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 112_501, serving({ tail: 12_501 }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 5_000, serving({ covered: 904, tail: 4_096 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 5_001, serving({ covered: 904, tail: 4_097 }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, capacityLeft: 0 }), WORTH_ROWS)).to.equal('extend');
  });

  it('is nothing for a short tail of rows that take long to absorb', () => {
    const slow = { absorbs: false };
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, ...slow }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 112_501, serving({ tail: 12_501, ...slow }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, unsaved: 25_001, ...slow }), WORTH_ROWS)).to.equal('persist');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, capacityLeft: 0, ...slow }), WORTH_ROWS)).to.equal('extend');
  });

  it('is a new build with too many dead or refused rows, or four times the trained rows', () => {
    expect(nextStep('hnsw', 69_999, serving({ covered: 69_999, garbage: 30_001 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 70_001, serving({ covered: 70_001, garbage: 29_999 }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 112_501, serving({ refused: 12_501 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 101_024, serving({ refused: 1_024 }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('ivf', 400_000, serving({ kind: 'ivf', covered: 400_000 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 400_000, serving({ covered: 400_000 }), WORTH_ROWS)).to.equal('nothing');
  });

  it('saves the index after many absorbed rows, so that few are absorbed again after a crash', () => {
    expect(nextStep('hnsw', 100_000, serving({ unsaved: 25_001 }), WORTH_ROWS)).to.equal('persist');
    expect(nextStep('hnsw', 100_000, serving({ unsaved: 25_000 }), WORTH_ROWS)).to.equal('nothing');
  });
});
