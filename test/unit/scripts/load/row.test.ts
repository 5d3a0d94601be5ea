// Covers: scripts/load/row.ts, scripts/load/batchBody.ts
import { expect } from 'chai';
import { unpack } from 'msgpackr';
import { unpackBody } from '../../../../coordinator/body/packedBody.js';
import { batchBody } from '../../../../scripts/load/batchBody.js';
import { type Columns, RowFault, rowOf } from '../../../../scripts/load/row.js';
import { type Fields, USUAL } from '../../../../scripts/load/source.js';
import { normaliseInto } from '../../../../shared/fixedPoint.js';
import { seededRandom, testSeed } from '../../../support/model/random.js';

const COLUMNS: Columns = {
  ...{ vector: undefined, text: undefined, tag: undefined, id: undefined },
  ...{ metadata: 'rest', isNormalised: false, numbers: new Set<string>() },
};
const ONE = 65_536;

const componentsOf = (vector: Uint8Array): Int32Array => new Int32Array(Uint8Array.from(vector).buffer);

describe('a loaded row', () => {
  const rowFrom = (fields: Fields, columns: Partial<Columns> = {}) => {
    const { vector, text, metadata } = rowOf(fields, { ...COLUMNS, ...columns }, USUAL);
    return { text, metadata, vector: [...componentsOf(vector as Uint8Array)].map((component) => component / ONE) };
  };
  const faultOf = (fields: Fields, columns: Partial<Columns> = {}): string => {
    try {
      rowFrom(fields, columns);
    } catch (error) {
      if (error instanceof RowFault) return error.message;
      throw error;
    }
    return 'none';
  };

  it('takes vector and text from their usual fields, and every other field as metadata', () => {
    expect(rowFrom({ embedding: [1, 0.5], document: 'a', year: 2001n, tags: ['x'] })).to.deep.equal({
      ...{ vector: [1, 0.5], text: 'a', metadata: { year: 2001, tags: ['x'] } },
    });
    expect(rowFrom({ vector: [1] })).to.deep.equal({ vector: [1], text: null, metadata: null });
  });

  it('takes tag and external id from the named fields, which are then not metadata', () => {
    const columns = { ...COLUMNS, tag: 'n', id: 'key' };
    const row = (fields: Fields) => rowOf({ vector: [1], ...fields }, columns, USUAL);
    expect(row({ n: '7', key: 'ü', more: 1 })).to.deep.include({ tag: 7, externalId: 'ü', metadata: { more: 1 } });
    expect(row({ n: 2n ** 53n - 1n, key: 12n })).to.include({ tag: 2 ** 53 - 1, externalId: '12' });
    expect(row({ n: null, key: 0 })).to.include({ tag: 0, externalId: '0' });
    for (const [fields, fault] of [
      [{ n: -1, key: 'a' }, 'n holds -1, which is not a whole number'],
      [{ n: 0.5, key: 'a' }, 'n holds 0.5, which is not a whole number'],
      [{ n: 2n ** 60n, key: 'a' }, 'n holds 1152921504606846976, which is not a whole number'],
      [{ n: 1 }, 'it has no key'],
      [{ n: 1, key: '' }, 'key holds "", which is not an id'],
      [{ n: 1, key: ['a'] }, 'key holds ["a"], which is not an id'],
      [{ n: 1, key: 'ü'.repeat(129) }, 'key is an id of more than 256 bytes'],
    ] as const)
      expect(
        () => row(fields as Fields),
        JSON.stringify(fields, (_, value) => String(value)),
      ).to.throw(RowFault, fault);
    expect(() => rowOf({ vector: [1], text: 5n }, COLUMNS, USUAL)).to.throw(
      RowFault,
      'text holds 5, which is not a text',
    );
  });

  it('takes the named fields, also within objects', () => {
    const fields = { data: { e: [[9], [1, 2]], t: 'a' }, meta: { k: 1 }, other: 5, more: null };
    const named = { vector: 'data.e.1', text: 'data.t' } as const;
    expect(rowFrom(fields, { ...named, metadata: ['meta'] })).to.deep.equal({
      vector: [1, 2],
      text: 'a',
      metadata: { k: 1 },
    });
    expect(rowFrom(fields, { ...named, metadata: ['other', 'more'] }).metadata).to.deep.equal({ other: 5, more: null });
    expect(rowFrom(fields, { ...named, metadata: [] }).metadata).to.equal(null);
    expect(rowFrom({ 'a.b': [1], a: { b: [2] } }, { vector: 'a.b' }).vector).to.deep.equal([1]);
  });

  it('names the option for a text that seems to hold bytes in hex or base64', () => {
    const bytes = Buffer.from(Float32Array.of(1.5, -2).buffer);
    for (const [vector, coding] of [
      [bytes.toString('hex'), 'hex'],
      [bytes.toString('hex').toUpperCase(), 'hex'],
      [`\\x${bytes.toString('hex')}`, 'hex'],
      ['0x40', 'hex'],
      [bytes.toString('base64'), 'base64'],
      [' AACAPwAAgD8= ', 'base64'],
    ] as const)
      expect(faultOf({ vector }), vector).to.match(
        new RegExp(`^vector holds .*: if it is bytes in ${coding}, --vector-bytes float32,${coding} reads them`),
      );
    for (const vector of ['12345678', '1e5', '-0.00001234']) expect(faultOf({ vector }), vector).to.not.match(/bytes/);
    expect(faultOf({ vector: 'a word' })).to.equal('vector holds "a", which is not a number');
  });

  it('takes a vector from text, or from one column for each component', () => {
    for (const vector of ['[1, -2.5]', '1,-2.5', '1 -2.5', '{1;-2.5}', ' ( 1 , -2.5 ) '])
      expect(rowFrom({ vector }).vector, vector).to.deep.equal([1, -2.5]);
    expect(rowFrom({ vector: '+1e1 .5 2. -1E-2' }).vector).to.deep.equal([10, 0.5, 2, -655 / ONE]);
    const wide = { id: 'a', v0: '1', v1: '2', v2: '3', text: 't' };
    expect(rowFrom(wide, { vector: ['v0', 'v2'] })).to.deep.equal({
      vector: [1, 2, 3],
      text: 't',
      metadata: { id: 'a' },
    });
  });

  it('converts values that JSON lacks to their closest JSON form', () => {
    const { metadata } = rowFrom({
      ...{ vector: [1], when: new Date(0), big: 2n ** 60n, bytes: Uint8Array.of(1), list: Float32Array.of(1.5) },
    });
    expect(metadata).to.deep.equal({
      when: '1970-01-01T00:00:00.000Z',
      big: '1152921504606846976',
      bytes: 'AQ==',
      list: [1.5],
    });
  });

  it('has all digits of its vector for a collection that divides it by its length', () => {
    const vectorOf = (vector: number[]) => rowOf({ vector }, { ...COLUMNS, isNormalised: true }, USUAL).vector;
    expect(vectorOf([3, 0.25])).to.deep.equal(new Uint8Array(Float32Array.of(3, 0.25).buffer));
    expect(vectorOf([3, 0.1])).to.deep.equal([3, 0.1]);
    expect(() => vectorOf([0, 0])).to.throw(RowFault, 'its vector holds only zeros, which have no direction');
    expect(() => vectorOf([1, 40_000])).to.throw(RowFault, 'component 1 is 40000');
  });

  it('is sent with all digits of its vector to a collection that divides it by its length', () => {
    const vectors = [
      [3, 4],
      [0.1, 1e-9],
    ];
    const rows = vectors.map((vector, i) => ({
      number: i + 1,
      row: rowOf({ vector }, { ...COLUMNS, isNormalised: true }, USUAL),
    }));
    const limits = { depthMax: 16, otherBytes: 0 };
    const body = Buffer.from(batchBody('c', { source: 'file', load: '' }, rows, true));
    const components = new Int32Array(4);
    for (const [i, vector] of vectors.entries()) normaliseInto(vector, components, 2 * i);
    const read = unpackBody(body, { name: 'batch' }, limits, 'unit')!;
    expect([...componentsOf(read.vectors[0]!.bytes)]).to.deep.equal([...components]);
  });

  it('is rejected with its field and the reason', () => {
    expect(faultOf({ a: 1 })).to.match(/^it has no field vector, .*: name the field of the vector with --vector$/);
    expect(faultOf({ vector: [1, 'x'] })).to.equal('vector holds "x", which is not a number');
    expect(faultOf({ vector: [1, null] })).to.equal('vector holds null, which is not a number');
    expect(faultOf({ vector: '[]' })).to.equal('vector is empty');
    expect(faultOf({ vector: '' })).to.equal('vector is empty');
    expect(faultOf({ vector: 5 })).to.equal('vector is not a list of numbers');
    for (const cut of ['[1, 2', '1, 2]', '(1 2}', '['])
      expect(faultOf({ vector: cut }), cut).to.equal('vector has a bracket without its other one: is it cut off?');
    for (const [vector, item] of [
      ['1,5 2,5', '5 2'],
      ['[1,5; 2,5]', '5; 2'],
      ['0x10 1', '0x10'],
      ['1 0b1', '0b1'],
      ['Infinity 1', 'Infinity'],
      ['1_0', '1_0'],
    ])
      expect(faultOf({ vector }), vector).to.equal(`vector holds "${item}", which is not a number`);
    expect(faultOf({ vector: [1], tag: '0x10' }, { tag: 'tag' })).to.match(/^tag holds "0x10", which is/);
    expect(faultOf({ vector: [1, 40_000] })).to.equal('component 1 is 40000: allowed is -32768 to 32767.99998');
    expect(faultOf({ vector: Float32Array.of(Number.NaN) })).to.match(/^component 0 is NaN/);
    expect(faultOf({ vector: [1], text: 5 })).to.equal('text holds 5, which is not a text');
    expect(faultOf({ v: [1] }, { vector: 'w' })).to.equal('it has no w; its fields are v');
    expect(faultOf({ v1: 1 }, { vector: ['v1', 'v9'] })).to.equal('it has no fields from v1 to v9');
  });

  it('takes its expiry from the named field, in unix seconds or as an instant with its zone', () => {
    const expiryOf = (at: unknown): number | undefined =>
      rowOf({ vector: [1], at }, { ...COLUMNS, expiresAt: 'at' }, USUAL).expiresAt;
    for (const at of [4_102_444_800, 4_102_444_800n, '4102444800', '2100-01-01T00:00:00Z', '2100-01-01T02:00+02:00'])
      expect(expiryOf(at), String(at)).to.equal(4_102_444_800);
    expect(expiryOf('2100-01-01t00:00:00.001z')).to.equal(4_102_444_801);
    expect(expiryOf('2100-01-01T00:00:00.000Z')).to.equal(4_102_444_800);
    for (const none of [undefined, null, '']) expect(expiryOf(none)).to.equal(undefined);
    expect(rowFrom({ vector: [1], at: 4_102_444_800, n: 1 }, { expiresAt: 'at' }).metadata).to.deep.equal({ n: 1 });
  });

  it('is rejected if its expiry has passed or is not an instant', () => {
    const fault = (at: unknown): string => faultOf({ vector: [1], at }, { expiresAt: 'at' });
    for (const past of [0, -5, 1_700_000_000, '2020-01-01T00:00:00Z'])
      expect(fault(past)).to.equal(`at holds ${JSON.stringify(past)}, which has passed`);
    for (const wrong of ['tomorrow', '2100-01-01', '2100-01-01T00:00:00', '2100-02-30T00:00:00Z', '4102444800.5', 1.5])
      expect(fault(wrong)).to.match(/^at holds .*, which is neither whole unix seconds nor an instant with its zone/);
    for (const wrong of [true, {}, Number.NaN]) expect(fault(wrong)).to.match(/^at holds .*, which is not a number$/);
    expect(fault(4_102_444_800_000)).to.match(/which is after the year 9999; give unix seconds, not milliseconds$/);
  });

  it('is another row under another expiry', () => {
    const bodyOf = (at: unknown): { request_ids: string[]; expires_at?: unknown } => {
      const row = rowOf({ vector: [1], at }, { ...COLUMNS, expiresAt: 'at' }, USUAL);
      return unpack(Buffer.from(batchBody('c', { source: 'file', load: '' }, [{ number: 1, row }])));
    };
    const [none, one, other] = [null, 4_102_444_800, 4_102_444_801].map(bodyOf);
    expect([none, one, other].map((body) => body!.expires_at)).to.deep.equal([
      undefined,
      [4_102_444_800],
      [4_102_444_801],
    ]);
    expect(new Set([none, one, other].map((body) => body!.request_ids[0])).size).to.equal(3);
  });

  it('is rejected if one of its texts has no UTF-8 encoding', () => {
    const half = '\ud800';
    for (const fields of [{ text: half }, { text: 'a', b: [{ c: half }] }, { text: 'a', [half]: 1 }])
      expect(faultOf({ vector: [1], ...fields })).to.equal('it has half of a surrogate pair, which UTF-8 cannot hold');
    expect(faultOf({ vector: [1], key: half }, { id: 'key' })).to.match(/^it has half of a surrogate pair/);
    expect(rowFrom({ vector: [1], text: '\ud83d\ude00' }).text).to.equal('\ud83d\ude00');
  });

  it('is sent with exactly its components', () => {
    const random = seededRandom(testSeed());
    const extremes = [-(2 ** 31), 2 ** 31 - 1, 0, 1, -1, ONE, ONE - 1, 10 * ONE, 100 * ONE - 1, 10_000 * ONE];
    const vectors = Array.from({ length: 50 }, () =>
      Int32Array.from(extremes, (extreme) => (random.int(3) === 0 ? extreme : random.int(2 ** 32) - 2 ** 31)),
    );
    const rest = { text: null, metadata: null, tag: 0, externalId: null };
    const rows = vectors.map((vector, i) => ({
      number: i + 1,
      row: { ...rest, vector: new Uint8Array(vector.buffer) },
    }));
    const limits = { depthMax: 16, otherBytes: 0 };
    const read = unpackBody(
      Buffer.from(batchBody('c', { source: 'file', load: '' }, rows)),
      { name: 'batch' },
      limits,
    )!;
    expect([...componentsOf(read.vectors[0]!.bytes)]).to.deep.equal(vectors.flatMap((vector) => [...vector]));
  });
});
