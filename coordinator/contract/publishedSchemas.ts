/**
 * The schemas of the OpenAPI document, in forms that generators of clients read; they allow the same values as the validators.
 * Constants become enumerations with a type, and integers of 64 bits, such as ids, get their format.
 */
import { type Schema, schemas } from './schemas.js';

const UINT32_MAX = 2 ** 32 - 1;

export const publishedSchemas = (): Readonly<Record<string, Schema>> => mapped(schemas, published);

export function published(schema: Schema): Schema {
  const { const: constant, oneOf, items, properties, additionalProperties, ...rest } = schema;
  const isWide = rest.type === 'integer' && (rest.maximum ?? 0) > UINT32_MAX;
  return {
    ...rest,
    ...(constant === undefined ? {} : enumeration([constant])),
    ...(isWide ? { format: 'int64' } : {}),
    ...(oneOf === undefined ? {} : alternatives(oneOf)),
    ...(items === undefined ? {} : { items: published(items) }),
    ...(properties === undefined ? {} : { properties: mapped(properties, published) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties }),
  };
}

/** The constants of one type among the alternatives become one enumeration. */
function alternatives(all: readonly Schema[]): Schema {
  const constants = all.flatMap(({ const: constant }) => (constant === undefined ? [] : [constant]));
  const types = [...new Set(constants.map((constant) => typeof constant))];
  const listed = types.map((type) => enumeration(constants.filter((constant) => typeof constant === type)));
  const others = all.filter((one) => one.const === undefined).map(published);
  const [only, second] = [...others, ...listed];
  return second === undefined && listed.length === 1 ? only! : { oneOf: [...others, ...listed] };
}

/** The constants have one type. */
const enumeration = (constants: readonly unknown[]): Schema => ({ type: typeof constants[0], enum: constants });

const mapped = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Readonly<Record<string, U>> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
