// Covers: scripts/mcp/fitted.ts, scripts/mcp/size.ts
import { expect } from 'chai';
import fc from 'fast-check';
import { ANSWER_BYTES_MAX, fitted, type Listing, levelOf, shortened } from '../../../../scripts/mcp/fitted.js';
import { pieceOf, sizeOf } from '../../../../scripts/mcp/size.js';
import { testSeed } from '../../../support/model/random.js';

const HITS: Listing = { name: 'results', shortens: ['metadata', 'text'], rest: 'Ask for less.' };
const LISTED: Listing = { name: 'records', shortens: ['metadata', 'text'], nextAfter: 'id', rest: 'next continues.' };

interface Item {
  readonly id: number;
  readonly text?: string;
  readonly metadata?: object;
  readonly vector?: readonly number[];
}
const answered = (items: readonly Item[], listing = HITS) =>
  fitted({ [listing.name]: items }, listing) as { left_out?: string; next?: number } & Record<string, Item[]>;

describe('a bounded answer of MCP', () => {
  it('is the whole answer, without left_out, if that fits', () => {
    const items = [{ id: 1, text: 'x'.repeat(ANSWER_BYTES_MAX - 100) }];
    expect(answered(items)).to.deep.equal({ results: items });
  });

  it('shortens only long texts, and keeps every item of a default search', () => {
    const items = Array.from({ length: 10 }, (_, i) => ({ id: i, text: i === 3 ? 'short' : 'long '.repeat(100_000) }));
    const { results, left_out } = answered(items);
    expect(results!.map(({ id }) => id)).to.deep.equal(items.map(({ id }) => id));
    expect(results![3]!.text).to.equal('short');
    expect(results![0]!.text).to.match(/^long long .*…\[\d+ more characters\]$/);
    expect(results![0]!.text!.length).to.be.above(2_000);
    expect(left_out).to.equal('parts of metadata and text, each marked …[ ]. Ask for less.');
  });

  it('shortens lists and objects within metadata', () => {
    const metadata = {
      name: 'a',
      list: Array.from({ length: 50_000 }, (_, i) => i),
      deep: { text: 'x'.repeat(90_000) },
    };
    const [item] = answered([{ id: 1, metadata }]).results!;
    const { name, list, deep } = item!.metadata as { name: string; list: unknown[]; deep: { text: string } };
    expect(name).to.equal('a');
    expect(list.slice(0, 2)).to.deep.equal([0, 1]);
    expect(list.at(-1)).to.match(/^…\[\d+ more items\]$/);
    expect(deep.text).to.match(/^x{5000,}…\[\d+ more characters\]$/);
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`key${i}`, i]));
    const [other] = answered([{ id: 1, metadata: many }]).results!;
    expect((other!.metadata as Record<string, unknown>)['…']).to.match(/^\[\d+ more keys\]$/);
  });

  it('has fewer items if their vectors do not fit, and continues behind the last one', () => {
    const items = Array.from({ length: 100 }, (_, i) => ({ id: i + 1, vector: Array(128).fill(0.123456789) }));
    const { records, next, left_out } = answered(items, LISTED);
    expect(records!.length).to.be.within(10, 40);
    expect(next).to.equal(records!.length);
    expect(left_out).to.include(`${100 - records!.length} of 100 records`);
  });

  it('leaves out a vector that fits in no answer', () => {
    const { results, left_out } = answered([{ id: 1, vector: Array(32_768).fill(0.1), text: 'a' }]);
    expect(results).to.deep.equal([{ id: 1, text: 'a' }]);
    expect(left_out).to.include('vectors that are too large');
  });

  it('never exceeds the limit in bytes, whatever the items contain', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u0000', '"', '🎈', 'ä', 'x').chain((one) => fc.nat(20_000).map((n) => one.repeat(n))),
    );
    const item = fc.record(
      {
        id: fc.nat(),
        text,
        metadata: fc.dictionary(text, fc.oneof(fc.jsonValue(), text)),
        external_id: fc.string({ maxLength: 256 }),
      },
      { requiredKeys: ['id'] },
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 60, size: 'max' }), (items) => {
        const answer = fitted({ results: items }, HITS);
        expect(answer).to.not.equal(undefined);
        expect(sizeOf(answer)).to.be.at.most(ANSWER_BYTES_MAX);
        const [ids, given] = [(answer!.results as Item[]).map(({ id }) => id), items.map(({ id }) => id)];
        expect(ids).to.deep.equal(given.slice(0, ids.length));
        if (items.length <= 10) expect(ids.length).to.equal(items.length);
      }),
      { seed: testSeed(), numRuns: 20 },
    );
  });

  it('shares the room evenly among the parts that do not fit', () => {
    expect(levelOf([10, 100, 100], 110)).to.equal(50);
    expect(levelOf([10, 20], 30)).to.equal(Number.POSITIVE_INFINITY);
    expect(levelOf([10, 20], 0)).to.equal(0);
    expect(shortened(['a'], 100)).to.deep.equal(['a']);
  });

  it('does not split a surrogate pair, and counts the bytes of escapes', () => {
    expect(pieceOf('🎈🎈', 0, 7)).to.equal('🎈');
    expect(pieceOf('\u0000\u0000', 0, 11)).to.equal('\u0000');
    expect(pieceOf('abc', 1, 10)).to.equal('bc');
    expect(pieceOf('abc', 3, 10)).to.equal('');
  });
});
