/**
 * Reads query parameters. They are text, also `null`, `true` and the empty text; `+` is a space. Only a parameter of a whole
 * number is read as a number, from digits alone.
 */
import { invalid } from './refusal.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';
import { spellingOf } from './spelling.js';

type Parameters = Record<string, string | number>;

const DIGITS = /^[0-9]{1,16}$/;
const SHOWN_CHARS = 40;
/** A request for another collection must not reach the default one. */
const assertSpelling = spellingOf('collection');

/** Returns a reader of the parameters of a type. It ignores other parameters, and throws `validation_error`. */
export function queryReader(name: SchemaName): (query: string) => Parameters {
  const isWhole = new Map(
    Object.entries(schemas[name]!.properties ?? {}).map(([key, schema]) => [key, typeOf(schema) === 'integer']),
  );
  return (query) => {
    const parameters: Parameters = {};
    const given = decoded(query);
    if (isWhole.has('collection') && !given.has('collection')) assertSpelling([...given.keys()], 'query');
    for (const [key, value] of given) {
      const whole = isWhole.get(key);
      // Any other text stays text, and the validator refuses it.
      if (whole !== undefined) parameters[key] = whole && DIGITS.test(value) ? Number(value) : value;
    }
    return parameters;
  };
}

/**
 * Returns a reader that ignores all parameters. It throws `validation_error`, also for a collection that belongs in the body:
 * otherwise a record would be deleted from the default collection.
 */
export function ignoredQuery(body: SchemaName | 'bytes' | null): (query: string) => undefined {
  const isInBody = body !== null && schemas[body]?.properties?.collection !== undefined;
  return (query) => {
    if (query === '') return;
    const given = decoded(query);
    if (!isInBody) return;
    if (given.has('collection')) throw invalid('query parameter collection: expected in the body, as $.collection');
    assertSpelling([...given.keys()], 'query');
  };
}

const typeOf = ({ type, $ref }: Schema): string | undefined =>
  $ref === undefined ? type : schemas[$ref.slice($ref.lastIndexOf('/') + 1)]?.type;

function decoded(query: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (values.has(name)) throw invalid(`query parameter ${name.slice(0, SHOWN_CHARS)} is repeated`);
    values.set(name, equals < 0 ? '' : decode(pair.slice(equals + 1)));
  }
  return values;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw invalid('the query holds a broken percent-encoding');
  }
}
