import { expect } from 'chai';
import { z } from 'zod';
import { argumentsOf, Misused, schemaOf, withoutNulls } from '../../../../scripts/mcp/schema.js';

const TYPE = z.strictObject({
  name: z.string().min(1),
  k: z.int().min(1).max(100).default(10).describe('How many.'),
  with: z.array(z.enum(['text', 'vector'])).optional(),
  filter: z.record(z.string(), z.unknown()).optional(),
  records: z
    .array(z.strictObject({ vector: z.array(z.number()).min(1).max(4), text: z.string().optional() }))
    .optional(),
  isOld: z.boolean().optional(),
});
const SCHEMA = schemaOf(TYPE, 'input');

const read = (given: unknown) => argumentsOf('find', TYPE, SCHEMA, given);
const faultOf = (given: unknown): string => {
  try {
    read(given);
  } catch (error) {
    if (error instanceof Misused) return error.message;
    throw error;
  }
  return 'none';
};

describe('arguments of MCP', () => {
  it('have a schema without the keywords that some models refuse, and defaults in descriptions', () => {
    expect(SCHEMA).to.deep.equal({
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string' },
        k: { type: 'integer', minimum: 1, maximum: 100, description: 'How many. Default: 10.' },
        with: { type: 'array', items: { type: 'string', enum: ['text', 'vector'] } },
        filter: { type: 'object' },
        records: {
          type: 'array',
          items: {
            type: 'object',
            required: ['vector'],
            properties: {
              vector: { type: 'array', minItems: 1, maxItems: 4, items: { type: 'number' } },
              text: { type: 'string' },
            },
          },
        },
        isOld: { type: 'boolean' },
      },
    });
  });

  it('are treated as absent if null, at every depth except within free values', () => {
    const given = { name: 'a', k: null, with: null, filter: { x: null }, records: [{ vector: [1], text: null }] };
    expect(read(given)).to.deep.equal({ name: 'a', k: 10, filter: { x: null }, records: [{ vector: [1] }] });
    expect(withoutNulls(undefined, null)).to.equal(null);
  });

  it("are refused with the argument's name, the expected and the given value", () => {
    expect(faultOf(undefined)).to.equal('name is missing: expected a text of at least 1 character');
    expect(faultOf([1])).to.equal('the arguments: expected an object, got a list of 1');
    const cases: readonly [given: object, fault: string][] = [
      [{ name: null }, 'name: expected a text of at least 1 character, got null'],
      [{ name: '' }, 'name: expected a text of at least 1 character, got the text ""'],
      [{ k: 101 }, 'k: expected a whole number from 1 to 100, got 101'],
      [{ k: 1.5 }, 'k: expected a whole number from 1 to 100, got 1.5'],
      [{ k: '5' }, 'k: expected a whole number from 1 to 100, got the text "5"'],
      [{ with: 'text' }, 'with: expected a list, got the text "text"'],
      [{ with: ['text', 'vectors'] }, 'with[1]: expected one of text, vector, got the text "vectors"'],
      [{ filter: [1, 2] }, 'filter: expected an object, got a list of 2'],
      [{ filter: 'x'.repeat(99) }, 'filter: expected an object, got a text of 99 characters'],
      [{ isOld: 'yes' }, 'isOld: expected true or false, got the text "yes"'],
      [{ records: [{ vector: [1, 'a'] }] }, 'records[0].vector[1]: expected a number, got the text "a"'],
      [{ records: [{}] }, 'records[0].vector is missing: expected a list from 1 to 4 items'],
      [{ records: [{ vector: [] }] }, 'records[0].vector: expected a list from 1 to 4 items, got a list of 0'],
      [{ K: 1 }, 'find takes no "K": did you mean k?'],
      [{ colour: 1 }, 'find takes no "colour": it takes name, k, with, filter, records, isOld'],
      [{ records: [{ vector: [1], txt: 'a' }] }, 'records[0] takes no "txt": did you mean text?'],
    ];
    for (const [given, fault] of cases) expect(faultOf({ name: 'a', ...given })).to.equal(fault);
  });

  it('are refused with a key named __proto__, which Zod would drop', () => {
    for (const [given, place] of [
      ['{"name":"a","__proto__":{"k":1}}', 'the arguments'],
      ['{"name":"a","filter":{"__proto__":"x"}}', 'filter'],
      ['{"name":"a","records":[{"vector":[1],"__proto__":1}]}', 'records[0]'],
    ] as const)
      expect(faultOf(JSON.parse(given))).to.equal(`${place}: a key named __proto__ cannot be sent`);
    const within = JSON.parse('{"name":"a","filter":{"$and":[{"__proto__":"x"}]}}');
    expect(JSON.stringify(read(within))).to.include('{"$and":[{"__proto__":"x"}]}');
  });

  it('are refused with the first three faults and the number of the others', () => {
    const vector = ['a', 'b', 'c', 'd'];
    expect(faultOf({ name: 'a', records: [{ vector }] })).to.match(
      /^(records\[0\]\.vector\[\d\]: [^;]+; ){3}and 1 more$/,
    );
  });

  it('are refused unchecked if they have more than 500000 numbers and fields', () => {
    const vector = Array(5_001).fill('a');
    const records = Array.from({ length: 100 }, () => ({ vector }));
    expect(faultOf({ name: 'a', records })).to.match(/^the arguments have more than 500000 numbers and fields/);
  });
});
