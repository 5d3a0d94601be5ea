// Covers: coordinator/body/keptJson.ts, coordinator/body/json.ts
import { expect } from 'chai';
import fc from 'fast-check';
import { jsonObjectOf } from '../../../../coordinator/body/json.js';
import { assertKept } from '../../../../coordinator/body/keptJson.js';
import { assertNesting } from '../../../../shared/json/nesting.js';
import { testSeed } from '../../../support/model/random.js';

/** JSON as text, in which an object may repeat a key. */
type Written = string | readonly Written[] | { readonly members: readonly (readonly [key: string, value: Written])[] };

/** First place of a value whose number or key would be lost, by a simple recursive reading. */
function lossIn(written: Written, path: string): string | undefined {
  if (typeof written === 'string') {
    const isLost = /^-?\d/.test(written) && isLossy(written);
    return isLost ? path : undefined;
  }
  const seen = new Set<string>();
  if ('members' in written)
    for (const [key, value] of written.members) {
      if (seen.has(key)) return `${path}.${key}`;
      seen.add(key);
      const loss = lossIn(value, `${path}.${key}`);
      if (loss !== undefined) return loss;
    }
  else
    for (const [place, value] of written.entries()) {
      const loss = lossIn(value, `${path}[${place}]`);
      if (loss !== undefined) return loss;
    }
  return undefined;
}

function isLossy(literal: string): boolean {
  const value = Number(literal);
  if (value === 0) return /[1-9]/.test(literal.replace(/e.*/i, ''));
  if (!Number.isFinite(value)) return true;
  return /^-?\d+$/.test(literal) && (BigInt(literal) !== BigInt(value) || Math.abs(value) > 2 ** 53);
}

/** Members of all objects in a parsed value. */
const membersOf = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : Object.values(value).reduce((sum: number, each) => sum + membersOf(each), 0) +
      (Array.isArray(value) ? 0 : Object.keys(value).length);

function textOf(written: Written, blanks: string): string {
  if (typeof written === 'string') return written;
  if (!('members' in written)) return `[${written.map((each) => textOf(each, blanks)).join(`,${blanks}`)}]`;
  const members = written.members.map(([key, value]) => `${JSON.stringify(key)}${blanks}:${textOf(value, blanks)}`);
  return `{${blanks}${members.join()}}`;
}

describe('JSON that is stored as it is written', () => {
  const scalars = fc.constantFrom(
    ...['0', '1', '-0', '0.1', '1e5', '-12.5', 'null', 'true', '""', '"a:1,\\"}]"', '"é\\\\"', '"e-400"'],
    ...['9007199254740992', '9007199254740993', '-9007199254740994', '9007199254740993.0', '123456789012345'],
    ...['1e400', '-1E+400', '1e-400', '0e-400', `0.${'0'.repeat(400)}1`, `0.${'0'.repeat(400)}`, '4e-324', '2E-324'],
    ...['1'.repeat(400), '1000000000000000000000'],
  );
  const keys = fc.constantFrom('a', 'b', 'c', 'metadata', 'é', '"', '1', '__proto__x');
  const { value: written } = fc.letrec<{ value: Written }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalars,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.record({ members: fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }) }),
    ),
  }));
  const objects = fc.record({ members: fc.array(fc.tuple(keys, written), { maxLength: 4 }) });
  const refusalOf = (text: string, field?: string): string | undefined => {
    const { members } = assertNesting(Buffer.from(text), 99);
    try {
      assertKept({ text, members, value: JSON.parse(text) }, '$', field);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  const placeIn = (message: string | undefined): string | undefined => message?.replace(/(?:: | appears ).*/, '');

  it('is refused at the first number or key that would be lost, and only then', () => {
    fc.assert(
      fc.property(objects, fc.constantFrom('', ' ', ' \n'), (object, blanks) => {
        expect(placeIn(refusalOf(textOf(object, blanks)))).to.equal(lossIn(object, '$'));
      }),
      { numRuns: 3_000, seed: testSeed() },
    );
  });

  it('is refused for numbers of its own field only, and for keys that any field repeats', () => {
    fc.assert(
      fc.property(objects, written, objects, (before, value, after) => {
        const others = (object: { members: readonly (readonly [string, Written])[] }) =>
          object.members.filter(([key]) => key !== 'metadata');
        const body: Written = { members: [...others(before), ['metadata', value], ...others(after)] };
        const text = textOf(body, '');
        const refusal = placeIn(refusalOf(text, 'metadata'));
        const isWhole = membersOf(JSON.parse(text)) === assertNesting(Buffer.from(text), 99).members;
        if (isWhole) expect(refusal).to.equal(lossIn(value, '$.metadata'));
        else expect(refusal).to.match(/^\$/);
      }),
      { numRuns: 3_000, seed: testSeed() },
    );
  });

  it('is refused if its field appears twice, also with escaped letters', () => {
    for (const name of ['metadata', '\\u006detadata'])
      expect(refusalOf(`{"x":{"y":[1,2]},"metadata":{},"${name}":{}}`, 'metadata')).to.equal(
        '$.metadata appears twice',
      );
  });

  it('must be an object', () => {
    expect(() => jsonObjectOf(Buffer.from('[]'), '$.a')).to.throw('$.a: expected a JSON object');
  });
});
