/**
 * The schemas of the tools, and the parsing of arguments. The schemas use the few keywords of JSON Schema that the tool interfaces of
 * all models accept.
 *
 * OpenAI (strict), Gemini (`FunctionDeclaration.parameters`) and Anthropic accept different parts of JSON Schema, and refuse a
 * tool with any other keyword. These keywords are in all three. Other constraints are in the description, and checked here.
 */
import { z } from 'zod';
import { meantBy } from '../../coordinator/contract/spelling.js';
import { counted } from '../../shared/errors/counted.js';
import { ELEMENTS_MAX, elementsIn } from './size.js';

/** A schema with one type, never a list of types. Only schemas of answers may lack `type`, which allows any value. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean';
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
}

const KEYWORDS = ['type', 'enum', 'required', 'minimum', 'maximum', 'minItems', 'maxItems', 'pattern'] as const;

type Direction = 'input' | 'output';

export function schemaOf(type: z.ZodType, direction: Direction): Schema {
  return reduced(z.toJSONSchema(type, { io: direction }) as Full);
}

type Full = Omit<Schema, 'properties' | 'items'> & {
  readonly properties?: Readonly<Record<string, Full>>;
  readonly items?: Full;
  readonly default?: unknown;
};

function reduced(full: Full): Schema {
  const kept = KEYWORDS.flatMap((word) => (saysNothing(full[word]) ? [] : [[word, full[word]] as const]));
  const description = described(full);
  return {
    ...Object.fromEntries(kept),
    ...(description === '' ? {} : { description }),
    ...(full.items && { items: reduced(full.items) }),
    ...(full.properties && {
      properties: Object.fromEntries(Object.entries(full.properties).map(([name, one]) => [name, reduced(one)])),
    }),
  };
}

/** Whether the keyword is omitted. Zod gives every integer the bounds of safe integers, which say nothing about the argument. */
const saysNothing = (value: unknown): boolean =>
  value === undefined || (typeof value === 'number' && Math.abs(value) === Number.MAX_SAFE_INTEGER);

function described(full: Full): string {
  const usual = full.default === undefined ? [] : [`Default: ${JSON.stringify(full.default)}.`];
  return [...(full.description === undefined ? [] : [full.description]), ...usual].join(' ');
}

/** Removes nulls from fields that `schema` does not require: models send null for an omitted argument. */
export function withoutNulls(schema: Schema | undefined, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || schema === undefined) return value;
  if (Array.isArray(value)) return schema.items ? value.map((item) => withoutNulls(schema.items, item)) : value;
  const { properties, required = [] } = schema;
  if (properties === undefined) return value;
  const entries = Object.entries(value).filter(([name, item]) => item !== null || required.includes(name));
  return Object.fromEntries(entries.map(([name, item]) => [name, withoutNulls(ownOf(properties, name), item)]));
}

const ownOf = <Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;

/** Thrown for arguments that a tool does not take, or that name something that does not exist. The message names each one. */
export class Misused extends Error {
  constructor(
    message: string,
    readonly code: 'validation_error' | 'record_not_found' = 'validation_error',
  ) {
    super(message);
  }
}

const SHOWN_FAULTS = 3;

/** The parsed arguments of a call. Throws Misused. */
export function argumentsOf<Input extends z.ZodType>(
  tool: string,
  type: Input,
  schema: Schema,
  given: unknown,
): z.output<Input> {
  if (elementsIn(given) > ELEMENTS_MAX)
    throw new Misused(`the arguments have more than ${ELEMENTS_MAX} numbers and fields: give fewer records at a time`);
  const cleaned = withoutNulls(schema, given ?? {});
  assertKept(schema, cleaned, '');
  const { data, error } = type.safeParse(cleaned);
  if (error === undefined) return data;
  const { issues } = error;
  const faults = issues.slice(0, SHOWN_FAULTS).map((issue) => faultText(tool, issue, schema, cleaned));
  if (issues.length > SHOWN_FAULTS) faults.push(`and ${issues.length - SHOWN_FAULTS} more`);
  throw new Misused(faults.join('; '));
}

/** Zod drops a key of this name without an error. A filter that lost its only condition would match everything. */
const DROPPED = '__proto__';

function assertKept(schema: Schema, value: unknown, place: string): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (schema.items?.type === 'object')
      for (const [i, item] of value.entries()) assertKept(schema.items, item, `${place}[${i}]`);
    return;
  }
  if (Object.hasOwn(value, DROPPED))
    throw new Misused(`${place === '' ? 'the arguments' : place}: a key named ${DROPPED} cannot be sent`);
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    if (Object.hasOwn(value, name))
      assertKept(inner, (value as Record<string, unknown>)[name], place === '' ? name : `${place}.${name}`);
}

type Path = readonly PropertyKey[];

function faultText(tool: string, issue: z.core.$ZodIssue, schema: Schema, given: unknown): string {
  const node = schemaAt(schema, issue.path);
  if (issue.code === 'unrecognized_keys') return unknownText(tool, issue, Object.keys(node?.properties ?? {}));
  const place = placeOf(issue.path);
  if (issue.code === 'custom') return place === '' ? issue.message : `${place}: ${issue.message}`;
  const value = valueAt(given, issue.path);
  const wanted = node === undefined ? issue.message : inWords(node);
  if (value === undefined) return `${place} is missing: expected ${wanted}`;
  return `${place === '' ? 'the arguments' : place}: expected ${wanted}, got ${shown(value)}`;
}

function unknownText(tool: string, { keys, path }: { keys: string[]; path: Path }, known: readonly string[]): string {
  const where = path.length === 0 ? tool : placeOf(path);
  return keys
    .slice(0, SHOWN_FAULTS)
    .map((key) => {
      const meant = meantBy(key, known);
      const hint = meant === undefined ? `it takes ${known.join(', ')}` : `did you mean ${meant}?`;
      return `${where} takes no ${JSON.stringify(key.slice(0, SHOWN_CHARS))}: ${hint}`;
    })
    .join('; ');
}

/** `records[2].vector`. */
const placeOf = (path: Path): string =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '');

function schemaAt(schema: Schema, path: Path): Schema | undefined {
  let node: Schema | undefined = schema;
  for (const step of path)
    node = typeof step === 'number' ? node?.items : node?.properties && ownOf(node.properties, String(step));
  return node;
}

function valueAt(given: unknown, path: Path): unknown {
  let value = given;
  for (const step of path) value = (value as Record<PropertyKey, unknown> | null | undefined)?.[step];
  return value;
}

function inWords({ type, enum: values, minimum, maximum, minItems, maxItems, pattern }: Schema): string {
  if (values !== undefined) return `one of ${values.join(', ')}`;
  switch (type) {
    case 'integer':
      return `a whole number${between(minimum, maximum)}`;
    case 'number':
      return `a number${between(minimum, maximum)}`;
    case 'array':
      return `a list${between(minItems, maxItems, ' items')}`;
    case 'string':
      return pattern === undefined ? 'a text of at least 1 character' : `a text that matches ${pattern}`;
    case 'boolean':
      return 'true or false';
    default:
      return 'an object';
  }
}

function between(least: number | undefined, most: number | undefined, unit = ''): string {
  if (least === undefined) return most === undefined ? '' : ` of at most ${most}${unit}`;
  return most === undefined ? ` of at least ${least}${unit}` : ` from ${least} to ${most}${unit}`;
}

const SHOWN_CHARS = 40;

function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  return value.length > SHOWN_CHARS
    ? `a text of ${counted(value.length, 'character')}`
    : `the text ${JSON.stringify(value)}`;
}
