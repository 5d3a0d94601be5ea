import { expect } from 'chai';
import { Needle } from '../../../../shard/metadata/needle.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a needle, the text that is looked for in another,', () => {
  it('is found where String.includes finds it, whatever its length', () => {
    const random = seededRandom(testSeed());
    for (let i = 0; i < 20_000; i++) {
      const text = (chars: number): string =>
        Array.from({ length: random.int(chars) }, () => random.pick(['a', 'b'])).join('');
      const [haystack, needle] = [text(60), text(24)];
      expect(new Needle(needle).isIn(haystack), `${needle} in ${haystack}`).to.equal(haystack.includes(needle));
    }
  });
});
