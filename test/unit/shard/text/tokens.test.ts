import { expect } from 'chai';
import { tokensOf } from '../../../../shard/text/tokens.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the words of a text', () => {
  const cases: readonly (readonly [what: string, text: string, words: readonly string[]])[] = [
    [
      'are runs of letters and digits in lower case',
      'The quick-brown FOX, no. 42b',
      ['the', 'quick', 'brown', 'fox', 'no', '42b'],
    ],
    ['come as often as they occur', 'so so', ['so', 'so']],
    ['end at an underscore and an apostrophe', "don't snake_case", ['don', 't', 'snake', 'case']],
    ['keep umlauts and ß', 'Straße über GRÖSSE', ['straße', 'über', 'grösse']],
    ['end in a final sigma wherever the word ends', 'ΟΔΟΣ.ΑΒΓ οδός', ['οδος', 'αβγ', 'οδός']],
    ['are Cyrillic too', 'Москва́ слово', ['москва́', 'слово']],
    ['are not cut in Chinese, but at its punctuation', '东京，你好。', ['东京', '你好']],
    ['hold the vowel signs of Hindi', 'हिन्दी में', ['हिन्दी', 'में']],
    ['are digits of every script', '٤٢ ४२', ['٤٢', '४२']],
    ['are letters beyond 16 bits', '𝒳 𐐀x', ['x', '𐐨x']],
    ['are not emoji', '👍🏽 fine 🎉', ['fine']],
    ['are the same composed and decomposed', 'e\u0301te\u0301 été', ['été', 'été']],
    ['are the same in full width and in ligatures', 'ＡＢＣ１ ﬁn', ['abc1', 'fin']],
    ['hold the dot that İ leaves', 'İzmir', ['i\u0307zmir']],
    ['do not begin with a mark', '\u0301 a', ['a']],
    ['are none in an empty text', '', []],
    ['are none in punctuation', ' .,;–…!? \n\t', []],
  ];
  for (const [what, text, words] of cases)
    it(what, () => {
      expect(tokensOf(text)).to.deep.equal(words);
    });

  it('are found in ASCII alone as they are beside other characters', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 2_000; round++) {
      const text = String.fromCharCode(...Array.from({ length: random.int(40) }, () => random.int(128)));
      expect(tokensOf(text), JSON.stringify(text)).to.deep.equal(tokensOf(`${text} …`));
    }
  });
});
