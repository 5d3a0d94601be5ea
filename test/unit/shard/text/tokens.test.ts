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
    ['are absent from an empty text', '', []],
    ['are absent from punctuation', ' .,;–…!? \n\t', []],
  ];
  for (const [what, text, words] of cases)
    it(what, () => {
      expect(tokensOf(text)).to.deep.equal(words);
    });

  it('are equal in ASCII and beside other characters', () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 2_000; round++) {
      const text = String.fromCharCode(...Array.from({ length: random.int(40) }, () => random.int(128)));
      expect(tokensOf(text), JSON.stringify(text)).to.deep.equal(tokensOf(`${text} …`));
    }
  });

  /** Whether normalisation sorts the character among marks of the lowest and of the highest class. */
  const isSorted = (character: string): boolean =>
    `${character}\u0334`.normalize('NFD') !== `${character}\u0334` ||
    `\u0345${character}` !== `\u0345${character}`.normalize('NFD');

  it('are cut after 30 marks, for every character that decomposes to marks', () => {
    let tried = 0;
    for (let code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code < 0xe000) continue;
      const character = String.fromCodePoint(code);
      const [first] = character.normalize('NFKD');
      if (first === undefined || !isSorted(first)) continue;
      tried++;
      const [word, ...rest] = tokensOf(`a${character.repeat(200)}`);
      expect(rest, `U+${code.toString(16)}`).to.deep.equal([]);
      const runs = word!.normalize('NFD').split('\u034F');
      // A character may decompose to three marks.
      expect(Math.max(...runs.map((run) => [...run].length)), `U+${code.toString(16)}`).to.be.at.most(1 + 3 * 30);
      expect(runs, `U+${code.toString(16)}`).to.have.length(7);
    }
    expect(tried).to.be.above(800);
  });

  it('keep up to 30 marks as normalised', () => {
    for (const mark of ['\u0301\u0316', '\u0316\u0301', '\u{1D165}\u0301', '\uFF9E\u0316']) {
      const text = `a${mark.repeat(15)} b${mark}`;
      expect(tokensOf(text)).to.deep.equal(text.normalize('NFKC').toLowerCase().split(' '));
    }
  });

  it('are normalised as a whole if many marks are apart', () => {
    const text = 'ä\u0301\u0316 हिन्दी में 👍🏽👍🏽 '.repeat(500);
    expect(tokensOf(text).join('')).not.to.include('\u034F');
  });

  it('are cut wherever a long run of marks begins', () => {
    for (let before = 0; before < 70; before++)
      for (const mark of ['\u0316', '\u{1D165}']) {
        const text = `${'é'.repeat(before)}a${mark.repeat(31)}`;
        expect(tokensOf(text)[0]!.split('\u034F'), String(before)).to.have.length(2);
      }
  });
});
