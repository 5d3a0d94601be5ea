// Covers: coordinator/body/vectorText.ts, coordinator/body/takenVectors.ts, coordinator/body/assembly/index.ts
// Covers: shared/webAssembly.ts
import { expect } from 'chai';
import fc from 'fast-check';
import type { BodyBounds } from '../../../../coordinator/body/bounds.js';
import { type BodyKind, prepareBody } from '../../../../coordinator/body/kinds.js';
import { type BodyParts, takeVectors } from '../../../../coordinator/body/takenVectors.js';
import { readFloats, readVector, readVectors } from '../../../../coordinator/body/vectorText.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import { fixedOf, quantise } from '../../../../shared/fixedPoint.js';
import { DIMENSION_MAX, VALUE_MAX, VALUE_MIN } from '../../../../shared/limits.js';
import { testSeed } from '../../../support/model/random.js';
import { componentsOf } from '../../../support/rigs/fakeBackend.js';

const BOUNDS: BodyBounds = {
  metadataBytes: 65_536,
  textBytes: 65_536,
  payloadBytes: 65_536,
  batchVectors: 16_384,
  commitBytes: 2 ** 24,
};
const check = <T extends [unknown, ...unknown[]]>(property: fc.IProperty<T>, numRuns: number): void =>
  fc.assert(property, { numRuns, seed: testSeed() });

/** Decimals of (n + ½) / 65536, halfway between two quanta, and their nearest neighbours. */
const middle = (n: number): string => ((2 * n + 1) / 131_072).toFixed(17).replace(/0+$/, '');
const lastDigitLess = (decimal: string): string =>
  `${decimal.slice(0, -1)}${Number(decimal.at(-1)) - 1}${'9'.repeat(30)}`;
const middles = fc
  .tuple(
    fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 2 }),
    fc.constantFrom('', '0', `${'0'.repeat(30)}1`, '00000000001'),
    fc.boolean(),
  )
  .map(([n, more, isLess]) => (isLess ? lastDigitLess(middle(n)) : middle(n) + more));

const digits = (maxLength: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${maxLength}}$`));
const exponents = fc
  .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(3))
  .map((it) => it.join(''));
const decimals = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(5).map((text) => String(Number(text))),
    fc.option(digits(40)),
    fc.option(exponents, { freq: 8 }),
  )
  .map(
    ([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${exponent ?? ''}`,
  );
const doubles = fc.double({ min: VALUE_MIN, max: VALUE_MAX, noNaN: true }).map(String);
const singles = fc.float({ min: -2, max: 2, noNaN: true }).map(String);
/** Values at the bounds, and texts that only resemble numbers. */
const edges = fc.constantFrom(
  ...['32767.99998', '32767.999981', '32768', '-32768', '-32768.0', '-32768.0000000000001', '-32769', '32767', '99999'],
  ...[
    '0',
    '-0',
    '-0.0',
    '0e0',
    '1E5',
    '1e-400',
    '-1e-7',
    '1e400',
    '123456.5',
    `0.${'0'.repeat(400)}1`,
    '9'.repeat(400),
  ],
  ...['01', '-01', '00', '1.', '.5', '+1', '-', '1e', '1e+', '0x10', '1_0', 'NaN', 'Infinity', '-Infinity', '1 2', ''],
  ...['null', 'true', '"1"', '[1]', '[]', '{}', '{"a":1}', '1,', ',1', '1]', '[1', '\u00a01', '1\u0000', '1"', '\\'],
);
const numbers = fc.oneof(doubles, singles, decimals, middles);
const blanks = fc.constantFrom('', '', '', ' ', '\n\t', '\r  ');
const joined = (items: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(fc.tuple(blanks, items, blanks), { maxLength }).map((list) => `[${list.map((it) => it.join('')).join()}]`);
const vectors = joined(numbers, 12);
/** Values of which most are vectors. */
const values = fc.oneof(
  { weight: 6, arbitrary: vectors },
  { weight: 2, arbitrary: joined(fc.oneof({ weight: 5, arbitrary: numbers }, edges), 6) },
  { weight: 1, arbitrary: edges },
);

describe('vectors read from JSON', () => {
  const parsed = (text: string): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  };
  const isVector = (value: unknown): value is number[] =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((each) => typeof each === 'number' && each >= VALUE_MIN && each <= VALUE_MAX);
  /** Whether a non-zero number of the text underflows to 0: the whole body is then validated as text. */
  const hasTiny = (text: string): boolean =>
    text.split(/[[\],\s]/).some((each) => Number(each) === 0 && /[1-9]/.test(each.replace(/e.*/i, '')));

  it('have exactly the components of JSON.parse and quantisation, and are refused where that fails', () => {
    check(
      fc.property(values, (text): void => {
        const read = readVector(Buffer.from(`${text}}`), 0);
        const value = parsed(text);
        // The vector may be the beginning of a longer text.
        const isPart = read !== undefined && read.end < Buffer.byteLength(text);
        if (isPart || !isVector(value) || hasTiny(text)) {
          expect(isPart ? value : read).to.equal(undefined);
          return;
        }
        expect(read?.end).to.equal(Buffer.byteLength(text));
        expect(componentsOf(read!.rows.bytes)).to.deep.equal([...quantise(value)]);
      }),
      20_000,
    );
  });

  it('with fractions of every length round half to even', () => {
    for (const n of [0, 1, 2, 65_534, 65_535, 2 ** 30, 2 ** 31 - 4])
      for (const sign of ['', '-'])
        for (const more of ['', '0', `${'0'.repeat(20)}1`]) {
          const decimal = `${sign}${middle(n)}${more}`;
          const { rows } = readVector(Buffer.from(`[${decimal}]}`), 0)!;
          expect(componentsOf(rows.bytes), decimal).to.deep.equal([...quantise([Number(decimal)])]);
        }
  });

  it('are one block if they have one length, up to the limits of a batch and a vector', () => {
    check(
      fc.property(joined(vectors, 6), (text): void => {
        const batch = JSON.parse(text) as number[][];
        const dimension = batch[0]?.length ?? 0;
        const read = readVectors(Buffer.from(`${text}}`), 0);
        if (dimension === 0 || batch.some((row) => row.length !== dimension || !isVector(row)) || hasTiny(text)) {
          expect(read).to.equal(undefined);
          return;
        }
        expect(read).to.deep.include({ end: Buffer.byteLength(text) });
        expect(read!.rows).to.include({ dimension, count: batch.length, unevenAt: -1 });
        expect(componentsOf(read!.rows.bytes)).to.deep.equal([...quantise(batch.flat())]);
      }),
      2_000,
    );
    const longest = (count: number, item: string): Buffer => Buffer.from(`[${Array(count).fill(item).join()}]}`);
    expect(readVector(longest(32_768, '1'), 0)?.rows.dimension).to.equal(32_768);
    expect(readVector(longest(32_769, '1'), 0)).to.equal(undefined);
    expect(readVectors(longest(16_384, '[1]'), 0)?.rows.count).to.equal(16_384);
    expect(readVectors(longest(16_385, '[1]'), 0)).to.equal(undefined);
    // More rows than the length of the first row suggests.
    expect(readVectors(Buffer.from(`[[0.123456789012345]${',[1]'.repeat(99)}]}`), 0)?.rows.count).to.equal(100);
  });
});

describe('bodies with vectors', () => {
  const KINDS: [BodyKind, string][] = [
    ['insert', 'values'],
    ['search', 'query'],
    ['multiSearch', 'query'],
    ['searchBatch', 'query'],
    ['batch', 'batch'],
    ['upsert', 'batch'],
  ];
  const outcome = (kind: BodyKind, text: string): unknown => {
    try {
      return { prepared: prepareBody(kind, { form: 'json', bytes: Buffer.from(text) }, BOUNDS) };
    } catch (error) {
      const { code, message } = error as VouchError;
      // The parser's message quotes the text.
      return { code, message: message.startsWith('the body is not JSON') ? 'the body is not JSON' : message };
    }
  };
  /** The body with its field name escaped, so that its vectors are not extracted and JSON.parse reads all of it. */
  const asWhole = (text: string, field: string): string =>
    text.replaceAll(`"${field}"`, `"\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}"`);

  const others = fc.constantFrom(
    ...['"k":3', '"k":0', '"collection":"é"', '"tag":1e3', '"texts":["a"]', '"like":4', '"external_ids":["a"]'],
    ...[
      '"metadata_filter":{"query":[1,2],"values":{"batch":[1]}}',
      '"metadata_filter":{"a":1e999}',
      '"unknown":[[[1]]]',
    ],
    ...['"__proto__":{"query":[1]}', '"constructor":1', '"toString":[1]', '"request_id":"00"', '"metadata":[{"a":1}]'],
    ...[
      '"collections":["a","b"]',
      '"a":"\\"query\\":[1,2]"',
      '"a\\n":1',
      '"query":null',
      '"values":null',
      '"x":[',
      '}',
      '',
    ],
    ...[
      `"deep":${'['.repeat(70)}${']'.repeat(70)}`,
      '"\\ud800":1',
      '"metadata_filter":{"a":1,"a":2}',
      '"tag":9007199254740993',
    ],
  );
  const bodies = (field: string) => {
    const vector = field === 'batch' ? fc.oneof(joined(vectors, 4), joined(values, 3), values) : values;
    const member = fc.oneof(
      vector.map((text) => `"${field}":${text}`),
      vector.map((text) => `"${field}" : ${text}`),
    );
    return fc
      .tuple(fc.array(others, { maxLength: 3 }), member, fc.array(fc.oneof(others, member), { maxLength: 2 }), blanks)
      .map(([before, vector, after, blank]) => `${blank}{${[...before, vector, ...after].join()}}${blank}`);
  };

  for (const [kind, field] of KINDS)
    it(`for ${kind} are prepared or refused as if JSON.parse had read all of them`, () => {
      const texts = bodies(field).map((text) =>
        kind === 'searchBatch' ? `{"searches":[${text},{"k":1,"query":[1]}]}` : text,
      );
      check(
        fc.property(texts, (text) => {
          expect(outcome(kind, text)).to.deep.equal(outcome(kind, asWhole(text, field)));
        }),
        3_000,
      );
    });

  it('are parsed as plain JSON if they have more vectors than a request may have', () => {
    const repeated = (count: number) => Buffer.from(`{${'"query":[1],'.repeat(count)}"k":1}`);
    expect(takeVectors(repeated(1), { name: 'query' })?.vectors).to.have.length(1);
    expect(takeVectors(repeated(2), { name: 'query' })).to.equal(undefined);
    const searches = (count: number) =>
      Buffer.from(`{"searches":[${Array(count).fill('{"query":[1],"k":1}').join()}]}`);
    const field = { name: 'query', within: 'searches' } as const;
    expect(takeVectors(searches(256), field)?.vectors).to.have.length(256);
    expect(takeVectors(searches(257), field)).to.equal(undefined);
  });

  it('are parsed as plain JSON if too many of their numbers are unusual', () => {
    const batch = (unusual: number) => {
      const rows = Array.from({ length: 1_000 }, (_, row) => `[${'1e0,'.repeat(unusual / 1_000)}${row}]`);
      return Buffer.from(`{"batch":[${rows.join()}]}`);
    };
    const rowsIn = (body: Buffer) => readVectors(body, body.indexOf('['))?.rows;
    expect(rowsIn(batch(250_000))).to.include({ count: 1_000, dimension: 251 });
    expect(rowsIn(batch(251_000))).to.equal(undefined);
    const prepared = prepareBody('batch', { form: 'json', bytes: batch(251_000) }, BOUNDS);
    expect(componentsOf(prepared.vectors).slice(250, 254)).to.deep.equal([65_536, 0, 65_536, 65_536]);
  });

  it('are refused for an error behind the vectors without another look at the vectors', () => {
    const body = Buffer.from(`{"query":[1],"k":0,"query_text":"${'x'.repeat(2 ** 20)}"}`);
    expect(() => prepareBody('search', { form: 'json', bytes: body }, BOUNDS)).to.throw(
      '$.k: expected a whole number from 1 to 5000, got 0',
    );
  });

  it('keep their other text, with placeholders for the vectors', () => {
    const taken = (text: string, name: 'query' | 'batch', within?: 'searches'): [string, number] | undefined => {
      const parts: BodyParts | undefined = takeVectors(Buffer.from(text), { name, ...(within && { within }) });
      return parts && [parts.json.toString(), parts.vectors.length];
    };
    expect(taken('{"query":[1,2],"k":3} ', 'query')).to.deep.equal(['{"query":[0],"k":3} ', 1]);
    expect(taken('{"é":"\\"","batch" : [[1],[2]]}', 'batch')).to.deep.equal(['{"é":"\\"","batch" : [[0]]}', 1]);
    const batch = '{"k":[{"query":[1]}],"searches":[{"query":[1]},{"query":[2]},{"x":{"query":[3]}}]}';
    expect(taken(batch, 'query', 'searches')).to.deep.equal([
      '{"k":[{"query":[1]}],"searches":[{"query":[0]},{"query":[1]},{"x":{"query":[3]}}]}',
      2,
    ]);
    for (const other of [
      '',
      '[]',
      '{',
      '{"query":[1]',
      '{"query":[]}',
      '{"query":[1,"2"]}',
      '{"qu\\u0065ry":[1]}',
      '{"like":1}',
    ])
      expect(taken(other, 'query'), other).to.equal(undefined);
  });
});

describe('float32 components', () => {
  const bytesOf = (floats: Float32Array): Uint8Array => new Uint8Array(floats.buffer);

  it('are the nearest fixed-point numbers, whatever their bits', () => {
    const bits = fc.oneof(
      fc.integer(),
      fc.float({ min: -2, max: 2, noNaN: true }).map((value) => new Int32Array(Float32Array.of(value).buffer)[0]!),
      fc
        .integer({ min: -(2 ** 23), max: 2 ** 23 })
        .map((n) => new Int32Array(Float32Array.of((n + 0.5) / 65_536).buffer)[0]!),
    );
    check(
      fc.property(fc.array(bits, { maxLength: 40 }), fc.nat(5), (all, offset) => {
        const floats = new Float32Array(Int32Array.from(all).buffer);
        const target = new Int32Array(offset + floats.length);
        const outside = floats.findIndex((value) => !(value >= VALUE_MIN && value <= VALUE_MAX));
        expect(readFloats(bytesOf(floats), target, offset)).to.equal(outside < 0 ? floats.length : outside);
        if (outside >= 0) return;
        expect([...target.subarray(offset)]).to.deep.equal([...Int32Array.from(floats, fixedOf)]);
      }),
      1_000,
    );
  });

  it('are read in vectors of the largest dimension', () => {
    const floats = Float32Array.from({ length: DIMENSION_MAX }, (_, i) => i / 7 - 2_000);
    const target = new Int32Array(DIMENSION_MAX);
    expect(readFloats(bytesOf(floats), target, 0)).to.equal(DIMENSION_MAX);
    expect(target.every((component, i) => component === fixedOf(floats[i]!))).to.equal(true);
    floats[20_001] = Number.NaN;
    expect(readFloats(bytesOf(floats), target, 0)).to.equal(20_001);
  });
});
