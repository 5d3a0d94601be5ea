import { expect } from 'chai';
import { escaped, mapKey } from '../../../../shared/hashing/mapKey.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('the key of a text that a client chose', () => {
  it('is the text itself where it is short and begins with no digit', () => {
    for (const text of ['', 'a', 'word', 'x1', '#', '.5', 'x'.repeat(128), '\u00e9'])
      expect(mapKey(text)).to.equal(text);
  });

  it('is marked where the text begins with a digit, since the engine may hash numerals by their value', () => {
    for (const text of ['0', '7', '2026', '4294967295', '3d']) expect(mapKey(text)).to.equal(`\u0001${text}`);
  });

  it('is short where the text is long', () => {
    for (const length of [129, 16_384, 65_536]) expect(mapKey('a'.repeat(length))).to.have.length(17);
  });

  it('differs where long texts of one length differ', () => {
    const keys = Array.from({ length: 1_000 }, (_, i) => mapKey(`${'a'.repeat(20_000)}${1_000 + i}`));
    expect(new Set(keys).size).to.equal(1_000);
    expect(mapKey(`${'a'.repeat(128)}\ud800`)).not.to.equal(mapKey(`${'a'.repeat(128)}\ud801`));
  });

  it('is not the key of any text that looks like a key', () => {
    const random = seededRandom(testSeed());
    const texts = new Set(['', '\0', '\u0001', '\u00011', '1', '\u0001\u00011', 'a'.repeat(200)]);
    for (const text of [...texts]) texts.add(mapKey(text));
    for (let i = 0; i < 5_000; i++)
      texts.add(Array.from({ length: random.int(5) }, () => '\0\u000101a'[random.int(5)]!).join(''));
    expect(new Set([...texts].map(mapKey)).size).to.equal(texts.size);
  });

  it('continues as a short text does, so that the parts of a path can be joined', () => {
    for (const text of ['a', '7', '\0', '\u0001']) expect(escaped(`${text}.b`)).to.equal(`${escaped(text)}.b`);
  });
});
