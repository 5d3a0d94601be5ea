// Covers: shard/kernel/partition.ts
import { expect } from 'chai';
import { Prefixes } from '../../../../shard/metadata/prefixes.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the texts that values may begin with', () => {
  it('are found for exactly the values that begin with them', () => {
    const random = seededRandom(testSeed());
    const someText = (chars: number): string =>
      Array.from({ length: random.int(chars) }, () => random.pick(['a', 'a', 'a', 'b', '\ud800'])).join('');
    for (let round = 1; round <= 300; round++) {
      const prefixes = new Prefixes();
      const texts = Array.from({ length: random.int(12) }, () => prefixes.add(someText(6)));
      for (let record = 1; record <= 5; record++) {
        const values = Array.from({ length: random.int(4) }, () => someText(9));
        for (const value of values) prefixes.meet(value, record);
        for (const { text, record: marked } of texts)
          expect(marked === record, JSON.stringify([text, values])).to.equal(
            values.some((value) => value.startsWith(text)),
          );
      }
    }
  });
});
