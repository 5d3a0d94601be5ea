/**
 * Refuses fields and parameters that a request does not have: a misspelt condition would vanish without a word. Which fields it
 * has is read from the schemas, also of the objects in it. Values with keys of the caller are not looked into.
 */
import { ACCEPTED_FIELDS, REFUSED_FIELDS } from './acceptedFields.js';
import { below, invalid } from './refusal.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';
import { meantBy } from './spelling.js';

/** Objects whose unknown fields are ignored: the parameters of an index. */
const EXTENSIBLE = ['IndexParameters'];

/** The fields of an object. Those that hold such objects again have their fields. */
type Fields = ReadonlyMap<string, Fields | undefined>;

const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** Follows a reference; any other schema is returned as it is. */
export const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : schemas[nameIn(schema.$ref)]!;

function fieldsIn(schema: Schema): Fields | undefined {
  if (schema.$ref !== undefined && EXTENSIBLE.includes(nameIn(schema.$ref))) return undefined;
  const { items, oneOf = [], properties, additionalProperties } = resolved(schema);
  if (items !== undefined) return fieldsIn(items);
  if (properties === undefined || additionalProperties !== undefined)
    return oneOf.map(fieldsIn).find((fields) => fields !== undefined);
  return new Map(Object.entries(properties).map(([name, field]) => [name, fieldsIn(field)]));
}

export const namesOf = (request: SchemaName): readonly string[] => Object.keys(schemas[request]!.properties ?? {});

/** Throws `validation_error` naming the first unknown field of a body. Anything but an object is left to the validators. */
export function assertKnownFields(request: SchemaName, body: unknown): void {
  const unknown = Array.isArray(body) ? undefined : unknownIn(body, bodyFields(request));
  if (unknown === undefined) return;
  const { path, name, known } = unknown;
  const advice = path === '' ? new Map(Object.entries(REFUSED_FIELDS[request] ?? {})).get(name) : undefined;
  throw invalid(`${below(`$${path}`, name)} is unknown here: ${advice ?? hint(name, known)}`);
}

const fieldsByRequest = new Map<SchemaName, Fields | undefined>();

/** Undefined: all keys are the caller's. */
function bodyFields(request: SchemaName): Fields | undefined {
  if (!fieldsByRequest.has(request)) {
    const accepted = Object.keys(ACCEPTED_FIELDS[request] ?? {}).map((name) => [name, undefined] as const);
    const fields = fieldsIn(schemas[request]!);
    fieldsByRequest.set(request, fields && new Map([...fields, ...accepted]));
  }
  return fieldsByRequest.get(request);
}

interface Unknown {
  /** The path of the object that has it. */
  readonly path: string;
  readonly name: string;
  readonly known: readonly string[];
}

function unknownIn(value: unknown, fields: Fields | undefined): Unknown | undefined {
  if (fields === undefined || typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const found = unknownIn(value[i], fields);
      if (found !== undefined) return { ...found, path: `[${i}]${found.path}` };
    }
    return undefined;
  }
  for (const name in value) {
    if (!fields.has(name)) return { path: '', name, known: [...fields.keys()] };
    const found = unknownIn((value as Record<string, unknown>)[name], fields.get(name));
    if (found !== undefined) return { ...found, path: `.${name}${found.path}` };
  }
  return undefined;
}

/** Advises what to send instead of an unknown field or parameter. */
export function hint(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'there are none';
  const meant = meantBy(name, known);
  return meant === undefined ? `expected only ${known.join(', ')}` : `did you mean ${meant}?`;
}
