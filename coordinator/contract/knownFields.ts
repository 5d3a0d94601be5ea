/**
 * Refuses unknown fields and parameters of a request: otherwise a misspelt condition would silently have no effect. The known
 * fields come from the schemas, also of nested objects. Values with keys of the caller's choice are not checked.
 */
import { ACCEPTED_FIELDS, REFUSED_FIELDS } from './acceptedFields.js';
import { below, invalid, notAnObject } from './refusal.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';
import { meantBy } from './spelling.js';

/** Objects whose unknown fields are ignored: the parameters of an index. */
const EXTENSIBLE = ['IndexParameters'];

/** The known fields of an object, or of a list's items. */
interface Shape {
  readonly isList: boolean;
  /** The fields of the object, or of each item. Undefined: they are not checked. */
  readonly fields: Fields | undefined;
}

/** A value that is neither a list nor an object has no shape. */
type Fields = ReadonlyMap<string, Shape | undefined>;

const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

/** Follows a reference; returns any other schema unchanged. */
export const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : schemas[nameIn(schema.$ref)]!;

function shapeIn(schema: Schema): Shape | undefined {
  const { items, oneOf = [], properties, additionalProperties } = resolved(schema);
  if (items !== undefined) return { isList: true, fields: shapeIn(items)?.fields };
  if (properties === undefined && additionalProperties === undefined) return oneShapeOf(oneOf);
  const isOpen = additionalProperties !== undefined || EXTENSIBLE.includes(nameIn(schema.$ref ?? ''));
  return { isList: false, fields: isOpen ? undefined : fieldsOf(properties!) };
}

const fieldsOf = (properties: Readonly<Record<string, Schema>>): Fields =>
  new Map(Object.entries(properties).map(([name, field]) => [name, shapeIn(field)]));

/** Undefined if the value may be a list or an object. */
function oneShapeOf(alternatives: readonly Schema[]): Shape | undefined {
  const shapes = alternatives.map(shapeIn).filter((shape) => shape !== undefined);
  const [first] = shapes;
  if (shapes.some(({ isList }) => isList !== first!.isList)) return undefined;
  return shapes.find(({ fields }) => fields !== undefined) ?? first;
}

export const namesOf = (request: SchemaName): readonly string[] => Object.keys(schemas[request]!.properties ?? {});

/**
 * Throws `validation_error` naming the first unknown field of a body, or the first array in place of an object. The validators
 * would take such an array's functions, such as `values` and `filter`, for fields; they check everything else.
 */
export function assertKnownFields(request: SchemaName, body: unknown): void {
  const unknown = unknownIn(body, bodyShape(request), '$');
  if (unknown === undefined) return;
  const { path, name, known } = unknown;
  const advice = path === '$' ? new Map(Object.entries(REFUSED_FIELDS[request] ?? {})).get(name) : undefined;
  throw invalid(`${below(path, name)} is unknown here: ${advice ?? hint(name, known)}`);
}

const shapesByRequest = new Map<SchemaName, Shape>();

function bodyShape(request: SchemaName): Shape {
  const known = shapesByRequest.get(request);
  if (known !== undefined) return known;
  const accepted = Object.keys(ACCEPTED_FIELDS[request] ?? {}).map((name) => [name, undefined] as const);
  const { fields } = shapeIn(schemas[request]!) ?? {};
  const shape = { isList: false, fields: fields && new Map([...fields, ...accepted]) };
  shapesByRequest.set(request, shape);
  return shape;
}

interface Unknown {
  /** The path of the object that has it. */
  readonly path: string;
  readonly name: string;
  readonly known: readonly string[];
}

function unknownIn(value: unknown, shape: Shape | undefined, path: string): Unknown | undefined {
  if (shape === undefined || typeof value !== 'object' || value === null) return undefined;
  const { isList, fields } = shape;
  if (Array.isArray(value) && !isList) throw notAnObject(path, value);
  if (fields === undefined) return undefined;
  if (Array.isArray(value)) {
    const item = { isList: false, fields };
    for (let i = 0; i < value.length; i++) {
      const found = unknownIn(value[i], item, `${path}[${i}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const name in value) {
    if (!fields.has(name)) return { path, name, known: [...fields.keys()] };
    const found = unknownIn((value as Record<string, unknown>)[name], fields.get(name), `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Advises what to send instead of an unknown field or parameter. */
export function hint(name: string, known: readonly string[]): string {
  if (known.length === 0) return 'there are none';
  const meant = meantBy(name, known);
  return meant === undefined ? `expected only ${known.join(', ')}` : `did you mean ${meant}?`;
}
