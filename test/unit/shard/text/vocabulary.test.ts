// Covers: shard/text/blockStore.ts
import { expect } from 'chai';
import { Vocabulary } from '../../../../shard/text/vocabulary.js';

describe('the vocabulary of a collection', () => {
  const TOKENS = 300_000;
  const tokenOf = (i: number): string => `${i.toString(36)}w`;

  it('finds each of many tokens, except the deleted ones', () => {
    const vocabulary = new Vocabulary();
    const terms = Array.from({ length: TOKENS }, (_, i) => vocabulary.findOrAdd(tokenOf(i)));
    expect(new Set(terms).size).to.equal(TOKENS);
    for (let i = 0; i < TOKENS; i += 2) vocabulary.delete(terms[i]!);
    for (let i = 0; i < TOKENS; i++) expect(vocabulary.find(tokenOf(i))).to.equal(i % 2 === 0 ? undefined : terms[i]!);
    const reused = vocabulary.findOrAdd('another');
    expect(terms).to.include(reused);
  });

  it('stores a long token by a short key, and distinguishes numerals from words', () => {
    const vocabulary = new Vocabulary();
    const long = Array.from({ length: 100 }, (_, i) => `${'a'.repeat(60_000)}${100 + i}`);
    const terms = [...long, '2026', '2027', 'word'].map((token) => vocabulary.findOrAdd(token));
    expect(new Set(terms).size).to.equal(103);
    expect(long.map((token) => vocabulary.find(token))).to.deep.equal(terms.slice(0, 100));
    expect(vocabulary.bytes).to.be.below(20_000);
  });
});
