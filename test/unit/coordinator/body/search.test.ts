// Covers: coordinator/body/bounds.ts
import { expect } from 'chai';
import type { BodyBounds } from '../../../../coordinator/body/bounds.js';
import { type BodyKind, prepareBody } from '../../../../coordinator/body/kinds.js';

const BOUNDS: BodyBounds = {
  metadataBytes: 65_536,
  textBytes: 65_536,
  payloadBytes: 65_536,
  batchVectors: 16_384,
  commitBytes: 2 ** 24,
};

describe('the limits of a search request', () => {
  const prepared = (kind: BodyKind, body: object, bounds = BOUNDS) =>
    prepareBody(kind, { form: 'json', bytes: Buffer.from(JSON.stringify(body)) }, bounds);
  const batch = (count: number, options: object, bounds?: BodyBounds) =>
    prepared('searchBatch', { searches: Array(count).fill({ query: [1], k: 1, ...options }) }, bounds);
  const together = (most: string): string => `$.searches: together they have more than the ${most} allowed`;

  it('apply to the conditions of all filters of a batch', () => {
    const filter = { metadata_filter: { a: 1, b: 2, c: 3, d: 4 } };
    batch(256, filter);
    expect(() => batch(206, { metadata_filter: { ...filter.metadata_filter, e: 5 } })).to.throw(
      together('1024 conditions in their filters'),
    );
  });

  it('apply to the values of all filters of a batch', () => {
    const listing = (count: number) => ({ metadata_filter: { a: { in: Array(count).fill(0) } } });
    batch(256, listing(64));
    expect(() => batch(256, listing(65))).to.throw(together('16384 values in their filters'));
  });

  it('apply to the bytes of all filters of a batch', () => {
    const equal = (length: number) => ({ metadata_filter: { a: 'x'.repeat(length - 1) } });
    batch(4, equal(2 ** 18));
    expect(() => batch(5, equal(2 ** 18))).to.throw(together('1048576 bytes of keys and strings in their filters'));
  });

  it('apply to the bytes of all query texts of a batch, and admit one longest text', () => {
    const text = (length: number) => ({ query_text: 'é'.repeat(length / 2) });
    batch(16, text(65_536));
    expect(() => batch(17, text(65_536))).to.throw(together('1048576 bytes of query texts'));
    batch(1, text(2 ** 21), { ...BOUNDS, textBytes: 2 ** 21 });
    batch(256, { ...text(65_536), rerank: false });
  });

  it('apply to the length of the group key', () => {
    const grouped = (length: number) => prepared('search', { query: [1], k: 1, group_by: 'k'.repeat(length) });
    grouped(1_024);
    expect(() => grouped(1_025)).to.throw('$.group_by takes 1025 bytes: at most 1024 are allowed');
  });
});
