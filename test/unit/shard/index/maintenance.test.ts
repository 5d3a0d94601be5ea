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

/** Of so many an exact scan takes as long as an index. */
const WORTH_ROWS = 6_000;

describe('what an index needs next', () => {
  it('auto has an index from 10,000 rows on, and keeps it down to 5,000', () => {
    expect(kindFor('auto', 9_999, undefined, WORTH_ROWS)).to.equal(undefined);
    expect(kindFor('auto', 10_000, undefined, WORTH_ROWS)).to.equal('hnsw');
    expect(kindFor('auto', 5_000, 'hnsw', WORTH_ROWS)).to.equal('hnsw');
    expect(kindFor('auto', 4_999, 'hnsw', WORTH_ROWS)).to.equal(undefined);
    expect(nextStep('auto', 10_000, undefined, WORTH_ROWS)).to.equal('build');
    expect(nextStep('auto', 4_999, serving({ covered: 4_999 }), WORTH_ROWS)).to.equal('drop');
  });

  it('auto has no index while an exact scan is as fast, and keeps it down to half of that', () => {
    expect(kindFor('auto', 13_999, undefined, 14_000)).to.equal(undefined);
    expect(kindFor('auto', 14_000, undefined, 14_000)).to.equal('hnsw');
    expect(kindFor('auto', 7_000, 'hnsw', 14_000)).to.equal('hnsw');
    expect(kindFor('auto', 6_999, 'hnsw', 14_000)).to.equal(undefined);
  });

  it('a kind that was asked for is there at any size', () => {
    expect(kindFor('ivf', 0, undefined, WORTH_ROWS)).to.equal('ivf');
    expect(nextStep('ivf', 0, undefined, WORTH_ROWS)).to.equal('build');
    expect(nextStep('brute', 1_000_000, undefined, WORTH_ROWS)).to.equal('nothing');
  });

  it('another kind than the desired one is replaced', () => {
    expect(nextStep('bq', 100_000, serving(), WORTH_ROWS)).to.equal('build');
  });

  it('is built once there are rows enough to be worth it', () => {
    const unindexed = serving({ indexed: false, covered: 0, tail: 999 });
    expect(nextStep('hnsw', 999, unindexed, WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 1_000, unindexed, WORTH_ROWS)).to.equal('build');
  });

  it('a short tail is absorbed, a long one is built onto what was saved', () => {
    expect(nextStep('hnsw', 100_010, serving({ tail: 10 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 112_500, serving({ tail: 12_500 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 112_501, serving({ tail: 12_501 }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 5_000, serving({ covered: 904, tail: 4_096 }), WORTH_ROWS)).to.equal('absorb');
    expect(nextStep('hnsw', 5_001, serving({ covered: 904, tail: 4_097 }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, capacityLeft: 0 }), WORTH_ROWS)).to.equal('extend');
  });

  it('a tail whose rows take long to absorb waits until it is long', () => {
    const slow = { absorbs: false };
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, ...slow }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 112_501, serving({ tail: 12_501, ...slow }), WORTH_ROWS)).to.equal('extend');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, unsaved: 25_001, ...slow }), WORTH_ROWS)).to.equal('persist');
    expect(nextStep('hnsw', 100_010, serving({ tail: 10, capacityLeft: 0, ...slow }), WORTH_ROWS)).to.equal('extend');
  });

  it('too many dead rows, rows that it would not find, or growth far beyond what it was trained on, mean a build from scratch', () => {
    expect(nextStep('hnsw', 69_999, serving({ covered: 69_999, garbage: 30_001 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 70_001, serving({ covered: 70_001, garbage: 29_999 }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('hnsw', 112_501, serving({ refused: 12_501 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 101_024, serving({ refused: 1_024 }), WORTH_ROWS)).to.equal('nothing');
    expect(nextStep('ivf', 400_000, serving({ kind: 'ivf', covered: 400_000 }), WORTH_ROWS)).to.equal('build');
    expect(nextStep('hnsw', 400_000, serving({ covered: 400_000 }), WORTH_ROWS)).to.equal('nothing');
  });

  it('what a crash would have absorbed again is saved from time to time', () => {
    expect(nextStep('hnsw', 100_000, serving({ unsaved: 25_001 }), WORTH_ROWS)).to.equal('persist');
    expect(nextStep('hnsw', 100_000, serving({ unsaved: 25_000 }), WORTH_ROWS)).to.equal('nothing');
  });
});
