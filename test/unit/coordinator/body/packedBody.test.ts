// Covers: coordinator/body/packedReader.ts
import { expect } from 'chai';
import fc from 'fast-check';
import { Packr, pack } from 'msgpackr';
import type { BodyBounds } from '../../../../coordinator/body/bounds.js';
import {
  BODY_KINDS,
  type BodyForm,
  type BodyKind,
  prepareBody,
  prepareInline,
} from '../../../../coordinator/body/kinds.js';
import { namesOf } from '../../../../coordinator/contract/knownFields.js';
import type { SchemaName } from '../../../../coordinator/contract/schemas.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import { quantise } from '../../../../shared/fixedPoint.js';
import { testSeed } from '../../../support/model/random.js';
import { componentsOf } from '../../../support/rigs/fakeBackend.js';

const BOUNDS: BodyBounds = {
  metadataBytes: 1_000,
  textBytes: 65_536,
  payloadBytes: 65_536,
  batchVectors: 16_384,
  commitBytes: 2 ** 24,
};
const plainly = new Packr({ useRecords: false });
const bin = (values: readonly number[]): Buffer => Buffer.from(Float32Array.from(values).buffer);
/** Numbers that equal those of `bin`. */
const floats = (values: readonly number[]): number[] => [...Float32Array.from(values)];
const fixed = (values: readonly number[]): Buffer => Buffer.from(quantise(values).buffer);

describe('msgpack bodies', () => {
  const outcome = (kind: BodyKind, form: BodyForm, bytes: Buffer): unknown => {
    try {
      return { prepared: prepareBody(kind, { form, bytes }, BOUNDS) };
    } catch (error) {
      const { code, message } = error as VouchError;
      return { code, message };
    }
  };
  const packed = (kind: BodyKind, value: unknown) => outcome(kind, 'msgpack', plainly.pack(value));
  const asJson = (kind: BodyKind, value: unknown) => outcome(kind, 'json', Buffer.from(JSON.stringify(value)));
  const refusal = (kind: BodyKind, value: unknown): string => (packed(kind, value) as { message: string }).message;

  it('are prepared or refused as JSON of equal values', () => {
    const scalar = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const json = fc.oneof(
      scalar,
      fc.array(scalar, { maxLength: 3 }),
      fc.dictionary(
        fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
        scalar,
      ),
    );
    const vector = fc.array(fc.float({ min: -30_000, max: 30_000, noNaN: true }), { minLength: 1, maxLength: 5 });
    const fields = {
      collection: fc.oneof(fc.constant('c'), json),
      k: fc.oneof(fc.constant(3), json),
      tag: fc.oneof(fc.nat(), json),
      metadata_filter: json,
      metadata: json,
      texts: json,
    };
    const requests = fc.record(
      { ...fields, values: vector, query: vector, batch: fc.array(vector, { minLength: 1, maxLength: 3 }) },
      { requiredKeys: ['values', 'query', 'batch'] },
    );
    fc.assert(
      fc.property(fc.constantFrom<BodyKind>('insert', 'search', 'batch', 'multiSearch'), requests, (kind, drawn) => {
        const known = namesOf(BODY_KINDS[kind].schema as SchemaName);
        const request = Object.fromEntries(Object.entries(drawn).filter(([key]) => known.includes(key)));
        const expected = asJson(kind, request);
        expect(packed(kind, request)).to.deep.equal(expected);
        const name = kind === 'insert' ? 'values' : kind === 'batch' ? 'batch' : 'query';
        const { [name]: vectors, ...rest } = request;
        const as = (of: typeof bin) => (name === 'batch' ? drawn.batch.map(of) : of(vectors as number[]));
        expect(packed(kind, { ...rest, [name]: as(bin) })).to.deep.equal(expected);
        expect(packed(kind, { ...rest, [`${name}_q16`]: as(fixed) })).to.deep.equal(expected);
      }),
      { numRuns: 2_000, seed: testSeed() },
    );
  });

  it('have vectors within searches, and byte strings as arrays of bytes', () => {
    const searches = [
      { query: bin([1, 2]), k: 1 },
      { query_q16: fixed([3]), k: 2 },
      { like: 4, k: 1 },
    ];
    const batch = packed('searchBatch', { searches }) as { prepared: { searches: { call: { query?: Uint8Array } }[] } };
    expect(batch.prepared.searches.map(({ call }) => call.query && componentsOf(call.query))).to.deep.equal([
      [65_536, 131_072],
      [196_608],
      undefined,
    ]);
    const id = Buffer.alloc(16, 7);
    const insert = packed('insert', { values: bin([1]), metadata: Buffer.from('{}'), request_id: id });
    expect(insert).to.deep.equal(asJson('insert', { values: [1], metadata: [123, 125], request_id: [...id] }));
  });

  it('are refused with the place of a value that is not a vector', () => {
    expect(refusal('search', { query: bin([1, Number.NaN]), k: 1 })).to.equal(
      '$.query[1]: expected a number from -32768 to 32767.99998, got NaN',
    );
    expect(refusal('batch', { batch: [bin([1]), bin([4e4])] })).to.include('$.batch[1][0]: expected a number');
    expect(refusal('insert', { values: [1, 'x'] })).to.include('$.values[1]: expected a number');
    expect(refusal('insert', { values: 'x' })).to.include('$.values: expected a byte string');
    expect(refusal('insert', { values_q16: [1] })).to.include('$.values_q16: expected a byte string of int32');
    expect(refusal('insert', { values: Buffer.alloc(5) })).to.include('takes 5 bytes');
    expect(refusal('insert', { values: bin([1]), values_q16: fixed([1]) })).to.include('given already');
    expect(refusal('batch', { batch: bin([1]) })).to.include('$.batch: expected an array of vectors');
    expect(refusal('insert', {})).to.include('$.values is missing');
    expect(packed('batch', { batch: [bin([1]), bin([1, 2])] })).to.have.nested.property('prepared.unevenAt', 1);
    const shorter = packed('batch', { batch: [bin(Array(100).fill(1)), ...Array(90).fill([])] });
    expect(shorter).to.have.nested.property('prepared.unevenAt', 1);
    expect(packed('batch', { batch: [[], []] })).to.have.nested.property('prepared.dimension', 0);
  });

  it('are refused if they are not msgpack, or contain what JSON cannot', () => {
    const raw = (...bytes: number[]): string => of(Buffer.from(bytes));
    const of = (body: Buffer): string => (outcome('insert', 'msgpack', body) as { message: string }).message;
    expect(raw()).to.equal('the body is empty: expected msgpack');
    expect(raw(0x81)).to.include('ends too early');
    expect(raw(0xdf, 0xff, 0xff, 0xff, 0xff)).to.include('ends too early');
    expect(raw(0xc6, 0xff, 0xff, 0xff, 0xff)).to.include('are allowed beside vectors');
    expect(raw(0x80, 0x00)).to.include('1 byte follows');
    expect(raw(0xc1)).to.include('type 0xc1');
    expect(raw(0xd4, 0x01, 0x00)).to.include('type 0xd4');
    expect(raw(0x81, 0x01, 0x01)).to.include('expected strings as keys');
    expect(raw(0xa1, 0xff)).to.include('not UTF-8');
    expect(raw(0x01)).to.include('expected a JSON object');
    expect(refusal('insert', { values: bin([1]), other: Number.NaN })).to.include('$.other: expected a finite number');
    expect(refusal('insert', { values: bin([1]), metadata: Buffer.alloc(2_000) })).to.include(
      'at most 1016 are allowed',
    );
    expect(refusal('batch', { batch: [bin([1])], metadata: [{ a: 2n ** 60n }] })).to.include('2^53');
    const deep = Array(5_000).fill(0x91);
    expect(raw(...deep)).to.include('nests deeper than the 64 levels');
    expect(of(Buffer.concat([Buffer.of(0xdd, 0, 0x0f, 0x42, 0x41), Buffer.alloc(1_000_001, 0xc0)]))).to.include(
      '565536 values beside vectors',
    );
  });

  it('are refused with the beginning of a key that is too long, before conversion to JSON', () => {
    const keyed = (sizeBytes: number) => ({
      ...{ query: bin([1]), k: 1 },
      metadata_filter: { ['\u0001'.repeat(sizeBytes)]: 1 },
    });
    expect(refusal('search', keyed(1_025))).to.equal(
      `$.metadata_filter has a key of 1025 bytes, which begins with "${'\\u0001'.repeat(32)}": at most 1024 are allowed`,
    );
    expect(refusal('search', keyed(1_024))).to.include('$ has a key of 6144 bytes');
    expect(packed('search', keyed(170))).to.have.property('prepared');
  });

  it('may list vectors as numbers of every type', () => {
    const numbers = [0, 127, -1, -32, -33, 200, 30_000, -30_000, 0.5, 1.1, 2n ** 5n, -(2n ** 5n)];
    const values = numbers.map(Number);
    const { prepared } = packed('insert', { values: numbers }) as { prepared: { vector: Uint8Array } };
    expect(componentsOf(prepared.vector)).to.deep.equal([...quantise(values)]);
    const floats = new Packr({ useRecords: false, useFloat32: 3 }).pack({ values });
    expect(outcome('insert', 'msgpack', floats)).to.deep.equal(asJson('insert', { values }));
    for (const wrong of ['x', null, [1], { a: 1 }, Buffer.of(1)])
      expect(refusal('insert', { values: [1, wrong] })).to.include('$.values[1]: expected a number');
    const cut = plainly.pack({ values: [1, 2, 3] }).subarray(0, -1);
    expect(outcome('insert', 'msgpack', cut)).to.have.property('code', 'validation_error');
  });

  it('keep `__proto__` as a key, like JSON', () => {
    const key = [0xa9, ...Buffer.from('__proto__')];
    const body = Buffer.from([0x82, ...key, 0x81, 0xa1, 0x61, 1, 0xa6, ...Buffer.from('values'), 0x91, 1]);
    expect(outcome('insert', 'msgpack', body)).to.deep.equal(
      outcome('insert', 'json', Buffer.from('{"__proto__":{"a":1},"values":[1]}')),
    );
  });

  it('with many values are left to a worker', () => {
    const inline = (metadata: unknown) => {
      const body = pack({ values: bin([1]), text: 'x'.repeat(8_000), metadata });
      return prepareInline('insert', { form: 'msgpack', bytes: body }, BOUNDS);
    };
    expect(inline([1])).to.have.property('dimension', 1);
    expect(inline(Array(3_000).fill(1))).to.equal(undefined);
  });

  it('with more than 64 KiB of texts or metadata are left to a worker', () => {
    const bounds = { ...BOUNDS, metadataBytes: 65_536 };
    const inline = (other: object) =>
      prepareInline('batch', { form: 'msgpack', bytes: pack({ batch: [bin([1]), bin([2])], ...other }) }, bounds);
    for (const length of [20_000, 40_000]) {
      const text = 'x'.repeat(length);
      for (const other of [{ texts: [text, text] }, { metadata: [{ a: text }, { b: text }] }])
        expect(inline(other) === undefined, `${length}`).to.equal(length === 40_000);
    }
  });

  it('with more than 16 KiB of metadata in a byte string are left to a worker', () => {
    const bounds = { ...BOUNDS, metadataBytes: 65_536 };
    for (const length of [15_000, 17_000]) {
      const bytes = pack({ values: bin([1]), metadata: Buffer.alloc(length) });
      const prepared = prepareInline('insert', { form: 'msgpack', bytes }, bounds);
      expect(prepared === undefined, `${length}`).to.equal(length === 17_000);
    }
  });

  it('with many keys in metadata in a string of JSON are left to a worker, like JSON', () => {
    const bounds = { ...BOUNDS, metadataBytes: 65_536 };
    for (const count of [1_000, 3_000]) {
      const object = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
      const metadata = [JSON.stringify(object)];
      const packedBody = pack({ batch: [bin([1])], metadata });
      const json = Buffer.from(JSON.stringify({ batch: [[1]], metadata }));
      for (const [form, bytes] of [['msgpack', packedBody] as const, ['json', json] as const]) {
        const prepared = prepareInline('batch', { form, bytes }, bounds);
        expect(prepared === undefined, `${count} keys, ${form}`).to.equal(count === 3_000);
      }
    }
  });

  it('up to a mebibyte are prepared without a worker if their vectors are byte strings', () => {
    const inline = (batch: readonly unknown[]) =>
      prepareInline('batch', { form: 'msgpack', bytes: pack({ batch }) }, BOUNDS);
    const values = Array.from({ length: 768 }, (_, i) => (i % 2 ? i * 42.6 - 32_767 : (2 * i + 1) / 131_072));
    const rows = Array.from({ length: 300 }, () => values);
    expect(inline(rows.map(bin))).to.deep.equal(
      prepareBody('batch', { form: 'json', bytes: Buffer.from(JSON.stringify({ batch: rows.map(floats) })) }, BOUNDS),
    );
    expect(inline(rows.map((row) => row.map(Math.round)))).to.equal(undefined);
    expect(inline(Array(400).fill(bin(values)))).to.equal(undefined);
  });

  it('with vectors of one length are refused with the place of the first component out of range', () => {
    const batch = Array.from({ length: 60 }, () => Array<number>(500).fill(1));
    batch[53]![499] = 4e4;
    batch[54]![0] = 4e4;
    expect(refusal('batch', { batch: batch.map(bin) })).to.include('$.batch[53][499]: expected a number from -32768');
    batch[53]![499] = 32_768;
    expect(refusal('batch', { batch: batch.map(bin) })).to.include('$.batch[53][499]: expected a number');
    batch[53]![499] = -32_768;
    expect(refusal('batch', { batch: batch.map(bin) })).to.include('$.batch[54][0]: expected a number');
  });

  it('with vectors of one length keep each in its place, also behind a list of numbers', () => {
    const rows = Array.from({ length: 90 }, (_, i) => Array.from({ length: 301 }, (_, j) => (i * 301 + j) / 7 - 2_000));
    const mixed = rows.map((row, i) => (i === 40 ? floats(row) : bin(row)));
    const asNumbers = { batch: rows.map(floats) };
    expect(packed('batch', { batch: mixed })).to.deep.equal(asJson('batch', asNumbers));
  });
});
