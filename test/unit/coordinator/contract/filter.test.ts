// Covers: shared/model/filter.ts
/** The parser of `metadata_filter`: accepted filters and refusals. */
import { expect } from 'chai';
import { filterOf, nothingSpent } from '../../../../coordinator/contract/filter.js';
import { VouchError } from '../../../../shared/errors/errors.js';
import {
  FILTER_BYTES_MAX,
  FILTER_CONDITIONS_MAX,
  FILTER_CONTAINS_MAX,
  FILTER_VALUES_MAX,
  FILTER_WORDS_BYTES_MAX,
} from '../../../../shared/limits.js';
import type { Json, Test, WordMode } from '../../../../shared/model/filter.js';

const testAt = (path: string, test: Test) => ({ op: 'test', path: path.split('.'), test });
const equal = (path: string, value: Json) => testAt(path, { kind: 'eq', value });

function refusalOf(filter: unknown): string {
  try {
    filterOf(filter as Record<string, unknown>);
  } catch (error) {
    expect(error).to.be.instanceOf(VouchError);
    expect((error as VouchError).code).to.equal('validation_error');
    return (error as VouchError).message;
  }
  throw new Error(`accepted: ${JSON.stringify(filter)}`);
}

describe('the parser of metadata filters', () => {
  it('compares scalars, arrays and plain objects', () => {
    const values: Json[] = ['x', 1, 1.5, true, null, [], [1, 'a'], {}, { city: 'Paris' }, { a: { in: 1 } }];
    for (const value of values) expect(filterOf({ k: value })).to.deep.equal(equal('k', value));
  });

  it('reads operators, with and without a dollar sign', () => {
    expect(filterOf({ price: { gte: 5 } })).to.deep.equal(testAt('price', { kind: 'gte', value: 5 }));
    expect(filterOf({ price: { $gte: 5, lt: 'x' } })).to.deep.equal({
      op: 'and',
      of: [testAt('price', { kind: 'gte', value: 5 }), testAt('price', { kind: 'lt', value: 'x' })],
    });
    expect(filterOf({ a: { in: [1, [2], { b: 3 }] } })).to.deep.equal(
      testAt('a', { kind: 'in', values: [1, [2], { b: 3 }] }),
    );
    expect(filterOf({ a: { prefix: 'b' } })).to.deep.equal(testAt('a', { kind: 'prefix', value: 'b' }));
    expect(filterOf({ a: { $contains: '' } })).to.deep.equal(testAt('a', { kind: 'contains', value: '' }));
    expect(filterOf({ a: { nin: [] } })).to.deep.equal(testAt('a', { kind: 'nin', values: [] }));
    expect(filterOf({ a: { exists: false } })).to.deep.equal(testAt('a', { kind: 'exists', value: false }));
    expect(filterOf({ a: { eq: { in: 3 } } })).to.deep.equal(equal('a', { in: 3 }));
  });

  it('follows dotted keys, and joins several keys', () => {
    expect(filterOf({ 'author.name': 'Ann', year: 1 })).to.deep.equal({
      op: 'and',
      of: [equal('author.name', 'Ann'), equal('year', 1)],
    });
    expect(filterOf({})).to.deep.equal({ op: 'and', of: [] });
  });

  it('reads $and, $or and $not, nested and beside keys', () => {
    expect(filterOf({ a: 1, $or: [{ b: 2 }, { $not: { c: 3 } }], $and: [{}] })).to.deep.equal({
      op: 'and',
      of: [
        equal('a', 1),
        { op: 'or', of: [equal('b', 2), { op: 'not', of: equal('c', 3) }] },
        { op: 'and', of: [{ op: 'and', of: [] }] },
      ],
    });
  });

  const wordsRefusal = (path: string): string =>
    `$.metadata_filter${path}.words: expected an object with one of all, any and phrase, as in {"all": "red wine"}`;

  it('reads words of metadata and of the text', () => {
    const test = (mode: WordMode): Test => ({ kind: 'words', mode, value: 'red' });
    for (const mode of ['all', 'any', 'phrase'] as const) {
      expect(filterOf({ a: { words: { [mode]: 'red' } } })).to.deep.equal({
        op: 'test',
        path: ['a'],
        test: test(mode),
      });
      expect(filterOf({ $text: { $words: { [mode]: 'red' } } })).to.deep.equal({ op: 'text', test: test(mode) });
    }
    expect(filterOf({ a: { word: 'red' } })).to.deep.equal(equal('a', { word: 'red' }));
    expect(refusalOf({ a: { wordss: { all: 'red' } } })).to.include('is not an operator');
  });

  it('refuses a wrong operand with its place', () => {
    const refusals: [unknown, string][] = [
      [{ price: { gte: true } }, '$.metadata_filter.price.gte: expected a number or a string, got true'],
      [{ price: { lt: null } }, '$.metadata_filter.price.lt: expected a number or a string, got null'],
      [{ a: { in: 3 } }, '$.metadata_filter.a.in: expected an array, got 3'],
      [{ a: { prefix: 1 } }, '$.metadata_filter.a.prefix: expected a string, got 1'],
      [{ a: { contains: ['b'] } }, '$.metadata_filter.a.contains: expected a string, got an array of 1'],
      [{ a: { $nin: {} } }, '$.metadata_filter.a.$nin: expected an array, got an object'],
      [{ a: { exists: 1 } }, '$.metadata_filter.a.exists: expected a boolean, got 1'],
      [{ $and: {} }, '$.metadata_filter.$and: expected an array, got an object'],
      [{ $or: [] }, '$.metadata_filter.$or: expected an array of at least one filter, got an empty one'],
      [{ $or: [{}, { $not: [] }] }, '$.metadata_filter.$or[1].$not: expected an object, got an array of 0'],
      [{ $and: [1] }, '$.metadata_filter.$and[0]: expected an object, got 1'],
      [{ $nor: [{}] }, '$.metadata_filter.$nor is not an operator: allowed here are $and, $or, $not and $text'],
      [{ a: { words: 'red' } }, wordsRefusal('.a')],
      [{ a: { words: { al: 'red' } } }, wordsRefusal('.a')],
      [{ a: { words: { all: 'red', any: 'blue' } } }, wordsRefusal('.a')],
      [{ a: { words: { all: 1 } } }, '$.metadata_filter.a.words.all: expected a string, got 1'],
      [
        { a: { words: { any: 'x'.repeat(FILTER_WORDS_BYTES_MAX + 1) } } },
        '$.metadata_filter.a.words.any: at most 4096 bytes are allowed',
      ],
      [{ $text: { words: {} } }, wordsRefusal('.$text')],
      [{ $text: 'red' }, '$.metadata_filter.$text: expected words, as in {"words": {"all": "…"}}'],
      [{ $text: {} }, '$.metadata_filter.$text: expected words, as in {"words": {"all": "…"}}'],
      [
        { $text: { contains: 'red' } },
        '$.metadata_filter.$text.contains does not exist: a text is tested by words, as in {"words": {"all": "…"}}',
      ],
      [{ a: JSON.parse('[{"b": 1e999}]') }, '$.metadata_filter.a[0].b: the number is too large'],
      [{ a: { gt: JSON.parse('-1e999') } }, '$.metadata_filter.a.gt: the number is too large'],
      [{ a: JSON.parse('{"__proto__": 1}') }, '$.metadata_filter.a: a key named __proto__ cannot be compared with'],
    ];
    for (const [filter, message] of refusals) expect(refusalOf(filter)).to.equal(message);
  });

  it('refuses unknown operators', () => {
    const known =
      'eq, ne, gt, gte, lt, lte, in, nin, prefix, contains, words, exists; {"eq": {…}} compares with an object whole';
    for (const [operand, key] of [
      [{ $regex: 'x' }, '$regex'],
      [{ between: [1, 2] }, 'between'],
      [{ gte: 1, below: 2 }, 'below'],
      [{ city: 'Paris', eq: 1 }, 'city'],
      [{ city: 'Paris', $where: 1 }, 'city'],
    ] as const)
      expect(refusalOf({ a: operand })).to.equal(
        `$.metadata_filter.a.${key} is not an operator: expected one of ${known}`,
      );
  });

  it('refuses a misspelt operator, whatever its siblings', () => {
    const slips = {
      gte: ['gtee', 'gtte', 'ggte', 'gteq', 'tge', 'GTE', 'Gte'],
      lte: ['ltee', 'lteq', 'tle'],
      nin: ['ninn', 'nnin', 'nni', 'NIN'],
      prefix: ['prefixx', 'pefix', 'prefxi', 'PREFIX'],
      contains: ['contain', 'containz', 'cotnains', 'Contains'],
      exists: ['exist', 'exsits', 'exsists', 'exiszs', 'existss', 'EXISTS'],
      short: ['eqq', 'qe', 'gtt', 'ggt', 'tg', 'llt', 'tl', 'nne', 'iin', 'ni'],
      foreign: ['between', 'regex', 'like', 'not_in', 'less_than', '$within', '$', '$gtee'],
      signs: ['=', '==', '!=', '<>', '<', '<=', '>', '>='],
    };
    for (const key of Object.values(slips).flat())
      for (const value of [{ [key]: 3 }, { unit: 'km', [key]: 3 }])
        expect(refusalOf({ a: value })).to.match(
          /^\$\.metadata_filter\.a\.\S+ is not an operator: expected one of eq, .*\{"eq": \{…\}\} compares with an object whole$/,
        );
    expect(refusalOf({ a: { unit: 'km', gtee: 3 } })).to.include('$.metadata_filter.a.gtee is not an operator');
  });

  it('compares whole objects whose keys are words similar to an operator', () => {
    const words = [
      'id',
      'en',
      'on',
      'is',
      'get',
      'let',
      'new',
      'net',
      'one',
      'int',
      'inn',
      'min',
      'max',
      'bin',
      'lat',
      'ltd',
    ];
    const more = ['gate', 'late', 'lite', 'nine', 'e', 'g', 'n', 'i', 'q', 'IN', 'LT', 'NE', 'foo', 'exit', 'exact'];
    for (const key of [...words, ...more]) {
      expect(filterOf({ a: { [key]: 1 } }), key).to.deep.equal(equal('a', { [key]: 1 }));
      expect(filterOf({ a: { [key]: 1, other: 2 } }), key).to.deep.equal(equal('a', { [key]: 1, other: 2 }));
    }
    const whole: Json[] = [{ gtee: 3 }, { between: [1, 2], unit: 'km' }, { $gtee: 1 }, { gte: 1 }];
    for (const value of whole) expect(filterOf({ a: { eq: value } })).to.deep.equal(equal('a', value));
  });

  it('limits conditions and listed values', () => {
    const conditions = (count: number) => ({ $and: Array.from({ length: count }, (_, i) => ({ a: i })) });
    filterOf(conditions(FILTER_CONDITIONS_MAX));
    expect(refusalOf(conditions(FILTER_CONDITIONS_MAX + 1))).to.match(/at most 128 conditions/);
    const containing = (count: number) => ({ $and: Array(count).fill({ a: { contains: 'x' } }) });
    filterOf(containing(FILTER_CONTAINS_MAX));
    expect(refusalOf(containing(FILTER_CONTAINS_MAX + 1))).to.match(/at most 16 conditions with contains or words/);
    const listed = (count: number) => ({ a: { in: Array(count - 1).fill(0) }, b: { nin: [1] } });
    filterOf(listed(FILTER_VALUES_MAX));
    expect(refusalOf(listed(FILTER_VALUES_MAX + 1))).to.match(/^\$\.metadata_filter\.b\.nin: .* at most 4096 values/);
    expect(refusalOf({ ['k'.repeat(10_000)]: { gt: null } }).length).to.be.below(200);
  });

  it('limits the bytes of keys and strings, and the keys of a path', () => {
    const text = (length: number) => 'x'.repeat(length);
    filterOf({ a: text(FILTER_BYTES_MAX - 1) });
    for (const filter of [
      { a: text(FILTER_BYTES_MAX) },
      { a: { gt: 'é'.repeat(FILTER_BYTES_MAX / 2) } },
      { a: { in: [text(FILTER_BYTES_MAX / 2), text(FILTER_BYTES_MAX / 2)] } },
      { a: { eq: { [text(FILTER_BYTES_MAX / 2)]: [text(FILTER_BYTES_MAX / 2)] } } },
      { [text(FILTER_BYTES_MAX)]: 1, b: 1 },
    ])
      expect(refusalOf(filter)).to.match(/ take at most 1048576 bytes, and here are more$/);
    filterOf({ [Array(64).fill('a').join('.')]: 1 });
    expect(refusalOf({ ['.'.repeat(64)]: 1 })).to.match(/has more than 64 keys: metadata nests no deeper$/);
  });

  it('refuses half of a surrogate pair, which would become another character', () => {
    const half = '\ud83d';
    for (const filter of [
      { a: half },
      { a: { contains: half } },
      { a: { prefix: `a${half}` } },
      { a: { lt: half } },
      { a: { in: ['x', half] } },
      { a: { words: { any: half } } },
      { $text: { words: { phrase: half } } },
      { a: { eq: { b: [half] } } },
      { a: { eq: { [half]: 1 } } },
      { [half]: { exists: true } },
      { $or: [{ $not: { a: half } }] },
    ])
      expect(refusalOf(filter)).to.match(
        /^\$\.metadata_filter\S* holds half of a surrogate pair, which is not a character$/,
      );
    filterOf({ a: '😀', '😀': { contains: '😀' } });
  });

  it('adds up its counts for a caller with several filters', () => {
    const spent = nothingSpent();
    filterOf({ ab: 1, $or: [{ c: { in: ['x', 'é'] } }, {}] }, '$', spent);
    expect(spent).to.deep.equal({ conditions: 3, contains: 0, values: 2, bytes: 6 });
  });

  it('counts an empty filter as a condition, and nested values as values', () => {
    const empties = (count: number) => ({ $or: Array.from({ length: count }, () => ({})) });
    filterOf(empties(FILTER_CONDITIONS_MAX));
    expect(refusalOf(empties(FILTER_CONDITIONS_MAX + 1))).to.match(
      /^\$\.metadata_filter\.\$or\[128\]: a filter has at most 128 conditions/,
    );
    const chains = { $and: Array.from({ length: FILTER_CONDITIONS_MAX + 1 }, () => ({ $not: { $and: [{}] } })) };
    expect(refusalOf(chains)).to.match(/at most 128 conditions/);
    const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, i]));
    for (const operandOf of [
      (count: number) => ({ a: Array(count).fill(0) }),
      (count: number) => ({ a: { eq: members(count) } }),
      (count: number) => ({ a: { in: [Array(count - 1).fill([])] } }),
      (count: number) => ({ a: { ne: [Array(count - 2).fill('x')] }, b: { eq: [0] } }),
    ]) {
      filterOf(operandOf(FILTER_VALUES_MAX));
      expect(refusalOf(operandOf(FILTER_VALUES_MAX + 1))).to.match(/at most 4096 values/);
    }
  });

  it('treats names of prototypes as ordinary keys', () => {
    const filter = filterOf(
      JSON.parse('{"__proto__": {"exists": true}, "constructor.prototype": 1, "a": {"hasOwnProperty": 1}}'),
    );
    expect(filter).to.deep.equal({
      op: 'and',
      of: [
        testAt('__proto__', { kind: 'exists', value: true }),
        equal('constructor.prototype', 1),
        equal('a', { hasOwnProperty: 1 }),
      ],
    });
  });
});
