import { expect } from 'chai';
import { TextTable, textKey } from '../../../../shared/hashing/textTable.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a table of strings', () => {
  it('gives equal strings one number, whatever they begin with', () => {
    const random = seededRandom(testSeed());
    const table = new TextTable();
    const numbers = new Map<string, number>();
    for (let round = 0; round < 60_000; round++) {
      const text = `${random.pick(['', '\0', '\u0001', '\u0001\u0001', '"', '7', 'é'])}${random.int(30_000)}`;
      const next = numbers.size;
      expect(table.add(text, next)).to.equal(numbers.get(text) ?? next);
      if (!numbers.has(text)) numbers.set(text, next);
    }
    expect(table.size).to.equal(numbers.size);
  });

  it('divides its strings among maps evenly, also where they differ in one place alone', () => {
    const table = new TextTable();
    for (let i = 0; i < 50_000; i++) table.add(`${'a'.repeat(100)}${String.fromCharCode(i)}`, i);
    for (let i = 0; i < 50_000; i++) table.add(`${String.fromCharCode(i)}${'a'.repeat(101)}`, i);
    // 256 maps of 390 strings on average.
    expect(table.largestPart).to.be.below(1_000);
  });

  it('has no key of digits alone, and no two strings with one key', () => {
    const texts = ['', '0', '1234567', '\0', '\u0001', '\u00010', '\u0001\u00010', 'a', '0a', '.', '.1'];
    const keys = texts.map(textKey);
    expect(new Set(keys).size).to.equal(texts.length);
    expect(keys.filter((key) => /^\d/.test(key) || key.startsWith('\0'))).to.deep.equal([]);
  });
});
