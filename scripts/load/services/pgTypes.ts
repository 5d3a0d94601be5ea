/** Converts the values of each type of PostgreSQL from their texts. */
import type { Sql } from 'postgres';
import { jsonIn } from '../json.js';
import { type Fields, RowFault } from '../source.js';
import { yearText } from '../times.js';
import { textOf } from '../utf8.js';

/** Converts the text of a value into a value of a row. Throws RowFault. `column`: its name. */
type Read = (text: string, column: string) => unknown;

interface Column {
  readonly name: string;
  readonly read: Read;
}

/** The columns of a table with the readers of their types. */
export async function readersOf(
  sql: Sql,
  columns: readonly { readonly name: string; readonly type: number }[],
): Promise<readonly Column[]> {
  if (columns.length === 0) return [];
  const types = await sql<Type[]>`
    SELECT t.oid, COALESCE(b.typname, e.typname, t.typname) AS name, e.oid IS NOT NULL AS "isArray",
      COALESCE(e.typdelim, t.typdelim) AS delimiter,
      COALESCE(b.typnamespace, e.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace AS "isBuiltIn"
    FROM pg_type t LEFT JOIN pg_type e ON e.typarray = t.oid LEFT JOIN pg_type b ON b.oid = e.typbasetype
    WHERE t.oid IN ${sql(columns.map(({ type }) => type))}`;
  const readers = new Map(types.map((type) => [type.oid, readerOf(type)] as const));
  return columns.map(({ name, type }) => ({ name, read: readers.get(type) ?? asText }));
}

interface Type {
  readonly oid: number;
  /** The name of the items of an array, and of the type below a domain. */
  readonly name: string;
  readonly isArray: boolean;
  readonly delimiter: string;
  readonly isBuiltIn: boolean;
}

function readerOf({ name, isArray, delimiter, isBuiltIn }: Type): Read {
  const read = (isBuiltIn ? BUILT_IN[name] : PGVECTOR[name]) ?? asText;
  return isArray ? (text, column) => itemsOf(text, delimiter, (item) => read(item, column)) : read;
}

/** Throws RowFault. */
export const fieldsOf = (values: readonly (Uint8Array | null)[], columns: readonly Column[]): Fields =>
  Object.fromEntries(
    columns.map(({ name, read }, i) => {
      const bytes = values[i]!;
      return [name, bytes === null ? null : read(textOf(bytes, name), name)];
    }),
  );

const asText: Read = (text) => text;
const asNumber: Read = (text) => Number(text);
const asJson: Read = (text, column) => jsonIn(Buffer.from(text), column, { isExact: true });
const asBits: Read = (text) => Array.from(text, Number);

/** The types that are converted. All others stay PostgreSQL's texts: decimals, money, times of day, intervals, ids, addresses, ranges. */
const BUILT_IN: Readonly<Record<string, Read>> = {
  ...{ bool: (text) => text === 't', int2: asNumber, int4: asNumber, oid: asNumber, int8: BigInt },
  ...{ float4: asNumber, float8: asNumber, json: asJson, jsonb: asJson, bit: asBits, varbit: asBits },
  bytea: (text) => Buffer.from(text.slice('\\x'.length), 'hex'),
  ...{ date: isoText, timestamp: isoText, timestamptz: isoText },
};

const PGVECTOR: Readonly<Record<string, Read>> = { vector: asList, halfvec: asList };

function asList(text: string): unknown {
  return JSON.parse(text);
}

const TIME = /^(\d+)(-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d+))?(\+00)?)?( BC)?$/;

/** A time in ISO 8601; `infinity` and `-infinity` stay. A time without a zone gets none. */
function isoText(text: string): string {
  const found = TIME.exec(text);
  if (found === null) return text;
  const [, year, day, clock, fraction = '', zone, before] = found;
  const date = yearText(before === undefined ? Number(year) : 1 - Number(year)) + day;
  return clock === undefined ? date : `${date}T${clock}.${fraction.padEnd(3, '0')}${zone === undefined ? '' : 'Z'}`;
}

/** Reads `{1,NULL,{"a b"}}`, also with its bounds: `[0:1]={1,2}`. Throws RowFault. */
function itemsOf(text: string, delimiter: string, read: (item: string) => unknown): unknown[] {
  let at = text.indexOf('{') + 1;
  const list = (): unknown[] => {
    const items: unknown[] = [];
    for (; text[at] !== '}'; ) {
      if (at >= text.length) throw new RowFault(`${text.slice(0, 40)} is not an array of PostgreSQL`);
      if (text[at] === delimiter) at += 1;
      else if (text[at] === '{') {
        at += 1;
        items.push(list());
      } else items.push(item());
    }
    at += 1;
    return items;
  };
  const item = (): unknown => {
    if (text[at] === '"') {
      const end = quotedEnd(text, at);
      const inner = text.slice(at + 1, end - 1).replace(/\\(.)/gs, '$1');
      at = end;
      return read(inner);
    }
    const begin = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== '}') at += 1;
    const inner = text.slice(begin, at);
    return inner === 'NULL' ? null : read(inner);
  };
  return list();
}

/** The place after the closing quote. */
function quotedEnd(text: string, open: number): number {
  let at = open + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
