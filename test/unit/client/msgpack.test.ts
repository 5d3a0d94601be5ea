/** The client's own msgpack encoder, read back by a msgpack library. */
import { expect } from 'chai';
import fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { packed } from '../../../client/msgpack.js';
import { testSeed } from '../../support/model/random.js';

const reader = new Unpackr({ useRecords: false, mapsAsObjects: true });

describe('msgpack requests of the client', () => {
  it('decode to the value that JSON would carry', () => {
    const values = fc.object({
      key: fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
      values: [
        fc.string({ unit: 'grapheme' }),
        fc.integer(),
        fc.maxSafeInteger(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.date({ noInvalidDate: true }),
        fc.constantFrom(65_535, 65_536).map((length) => 'x'.repeat(length)),
      ],
    });
    fc.assert(
      fc.property(values, (value) => {
        const sent = JSON.parse(JSON.stringify(value)) as unknown;
        expect(JSON.parse(JSON.stringify(reader.unpack(packed(value))))).to.deep.equal(sent);
      }),
      { numRuns: 100, seed: testSeed() },
    );
  });

  it('carry vectors as the bytes of their float32, and lists of any length', () => {
    const vectors = [new Float32Array(0), Float32Array.of(1, -0.1, 3e38), new Float32Array(20_000).fill(0.5)];
    const batch = [...Array(70_000).keys()];
    const { values, list } = reader.unpack(packed({ values: vectors, list: batch })) as {
      values: Uint8Array[];
      list: number[];
    };
    for (const [i, bytes] of values.entries())
      expect(new Float32Array(new Uint8Array(bytes).buffer)).to.deep.equal(vectors[i]);
    expect(list).to.deep.equal(batch);
  });

  it('fail with a TypeError for half of a surrogate pair, in values and in keys', () => {
    for (const value of ['\ud800', ['a\udfff'], { 'b\ud800': 1 }])
      expect(() => packed(value)).to.throw(TypeError, 'a string with half of a surrogate pair cannot be sent');
    expect(reader.unpack(packed('\ud83d\ude00'))).to.equal('😀');
  });

  it('fail with a TypeError for values that JSON cannot carry', () => {
    expect(() => packed({ a: 1n })).to.throw(TypeError, 'a bigint cannot be sent');
    for (const value of [undefined, Number.NaN, Number.POSITIVE_INFINITY, () => 1, Symbol('a')])
      for (const holder of [value, [value], { a: value }])
        expect(() => packed(holder)).to.throw(TypeError, 'cannot be sent');
  });
});
