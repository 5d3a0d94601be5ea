import { expect } from 'chai';
import { WordTest } from '../../../../shard/metadata/wordTest.js';
import { tokensOf } from '../../../../shard/text/tokens.js';
import type { WordMode } from '../../../../shared/model/filter.js';

describe('a test of words', () => {
  const isIn = (mode: WordMode, words: string, text: string): boolean =>
    new WordTest(mode, tokensOf(words)).isIn(tokensOf(text));

  it('finds all words in any order, any of them, or a phrase', () => {
    const text = 'The quick brown fox, quick as ever';
    for (const [mode, words, wanted] of [
      ['all', 'fox QUICK', true],
      ['all', 'fox quick fox', true],
      ['all', 'fox slow', false],
      ['any', 'slow fox', true],
      ['any', 'slow', false],
      ['phrase', 'brown fox quick', true],
      ['phrase', 'quick as', true],
      ['phrase', 'fox brown', false],
      ['phrase', 'ick brown', false],
      ['phrase', 'quick quick', false],
    ] as const)
      expect(isIn(mode, words, text), `${mode} ${words}`).to.equal(wanted);
  });

  it('selects nothing if it has no word', () => {
    for (const mode of ['all', 'any', 'phrase'] as const) {
      expect(isIn(mode, '?!', 'what?!')).to.equal(false);
      expect(isIn(mode, 'what', '')).to.equal(false);
    }
  });

  it('takes time linear in the text for a long row of one word', () => {
    const before = process.cpuUsage();
    expect(isIn('phrase', `${'a '.repeat(2_000)}b`, 'a '.repeat(32_000))).to.equal(false);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000, 'milliseconds of processor time').to.be.below(200);
  });
});
