/**
 * Reads query parameters. All are text, even `null`, `true` and the empty text; `+` is a space. Only a parameter whose
 * schema takes whole numbers is read as a number, from digits.
 */
import type { VouchError } from '../../shared/errors/errors.js';
import { hint, namesOf, resolved } from './knownFields.js';
import { invalid, shortened } from './refusal.js';
import { type Schema, type SchemaName, schemas } from './schemas.js';

type Parameters = Record<string, string | number>;

const DIGITS = /^[0-9]{1,16}$/;

/**
 * Returns a reader of the parameters of a type; null: a request without parameters. The reader throws `validation_error` for
 * any other parameter, also for one that belongs in the `body`.
 */
export function queryReader(name: SchemaName | null, body: SchemaName | 'bytes' | null = null) {
  const known = Object.entries((name === null ? undefined : schemas[name]!.properties) ?? {});
  const isWhole = new Map(known.map(([key, schema]) => [key, takesWhole(schema)]));
  const inBody = body === null || body === 'bytes' ? [] : namesOf(body);
  return (query: string): Parameters => {
    const parameters: Parameters = {};
    if (query === '') return parameters;
    for (const [key, value] of decoded(query)) {
      const whole = isWhole.get(key);
      if (whole === undefined) throw unknownParameter(key, [...isWhole.keys()], inBody);
      // Any other text stays text, and the validator refuses it.
      parameters[key] = whole && DIGITS.test(value) ? Number(value) : value;
    }
    return parameters;
  };
}

/** Whether digits are read as a number. If the parameter may also be a text, that text has other characters. */
function takesWhole(schema: Schema): boolean {
  const { type, oneOf = [] } = resolved(schema);
  return type === 'integer' || oneOf.some(takesWhole);
}

function unknownParameter(name: string, known: readonly string[], inBody: readonly string[]): VouchError {
  const parameter = `query parameter ${shortened(name)}`;
  if (inBody.includes(name)) return invalid(`${parameter}: expected in the body, as $.${name}`);
  return invalid(`${parameter} is unknown here: ${hint(name, known.length === 0 ? inBody : known)}`);
}

function decoded(query: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals));
    if (values.has(name)) throw invalid(`query parameter ${shortened(name)} is repeated`);
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
    throw invalid('the query has a broken percent-encoding');
  }
}
