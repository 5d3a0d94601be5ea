// Covers: shared/hashing/textHash.ts
import { expect } from 'chai';
import { TextTable } from '../../../../shared/hashing/textTable.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

describe('a table of strings', () => {
  it('gives equal strings one number, whatever their first characters', () => {
    const random = seededRandom(testSeed());
    const table = new TextTable();
    const numbers = new Map<string, number>();
    for (let round = 0; round < 60_000; round++) {
      const text = `${random.pick(['', '\0', '\u0001', '\u0001\u0001', '"', '7', 'é'])}${random.int(30_000)}`;
      const next = numbers.size;
      expect(table.add(text, next)).to.equal(numbers.get(text) ?? next);
      if (!numbers.has(text)) numbers.set(text, next);
    }
    for (const [text, number] of numbers) expect(table.find(text)).to.equal(number);
  });

  it('divides its strings among maps evenly, also if they differ in one position only', () => {
    const table = new TextTable();
    for (let i = 0; i < 50_000; i++) table.add(`${'a'.repeat(100)}${String.fromCharCode(i)}`, i);
    for (let i = 0; i < 50_000; i++) table.add(`${String.fromCharCode(i)}${'a'.repeat(101)}`, i);
    // 256 maps of 390 strings on average.
    expect(table.largestPart).to.be.below(1_000);
  });

  it('is one map up to 16,384 strings', () => {
    const table = new TextTable();
    for (let i = 0; i < 16_384; i++) table.add(`w${i}`, i);
    expect(table.largestPart).to.equal(16_384);
    table.add('another', 16_384);
    expect(table.largestPart).to.be.below(200);
  });

  it('finds every string except the deleted ones, undivided and divided', () => {
    for (const count of [1_000, 40_000]) {
      const table = new TextTable();
      for (let i = 0; i < count; i++) table.add(`w${i}`, i);
      for (let i = 0; i < count; i += 2) table.delete(`w${i}`);
      for (let i = 0; i < count; i++) expect(table.find(`w${i}`)).to.equal(i % 2 === 0 ? undefined : i);
    }
  });
});
