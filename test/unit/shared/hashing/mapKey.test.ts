import { expect } from 'chai';
import { escaped, mapKey } from '../../../../shared/hashing/mapKey.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe("the map key of a client's text", () => {
  it('is the text itself if it is short and does not begin with a digit', () => {
    for (const text of ['', 'a', 'word', 'x1', '#', '.5', 'x'.repeat(128), '\u00e9'])
      expect(mapKey(text)).to.equal(text);
  });

  it('has a prefix if the text begins with a digit, since the engine may hash numerals by value', () => {
    for (const text of ['0', '7', '2026', '4294967295', '3d']) expect(mapKey(text)).to.equal(`\u0001${text}`);
  });

  it('is short for a long text', () => {
    for (const length of [129, 16_384, 65_536]) expect(mapKey('a'.repeat(length))).to.have.length(17);
  });

  it('differs between long texts of equal length', () => {
    const keys = Array.from({ length: 1_000 }, (_, i) => mapKey(`${'a'.repeat(20_000)}${1_000 + i}`));
    expect(new Set(keys).size).to.equal(1_000);
    expect(mapKey(`${'a'.repeat(128)}\ud800`)).not.to.equal(mapKey(`${'a'.repeat(128)}\ud801`));
  });

  it('differs from the map keys of all other texts, also of texts that look like keys', () => {
    const random = seededRandom(testSeed());
    const texts = new Set(['', '\0', '\u0001', '\u00011', '1', '\u0001\u00011', 'a'.repeat(200)]);
    for (const text of [...texts]) texts.add(mapKey(text));
    for (let i = 0; i < 5_000; i++)
      texts.add(Array.from({ length: random.int(5) }, () => '\0\u000101a'[random.int(5)]!).join(''));
    expect(new Set([...texts].map(mapKey)).size).to.equal(texts.size);
  });

  it('continues like a short text, so that the parts of a path can be joined', () => {
    for (const text of ['a', '7', '\0', '\u0001']) expect(escaped(`${text}.b`)).to.equal(`${escaped(text)}.b`);
  });
});
