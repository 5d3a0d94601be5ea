/** Conversion of each type of Parquet. https://github.com/apache/parquet-format/blob/master/LogicalTypes.md */
import { parquetSchema, type SchemaElement, type SchemaTree } from 'hyparquet';
import { assembleNested } from 'hyparquet/src/assemble.js';
import { DEFAULT_PARSERS, parseFloat16 } from 'hyparquet/src/convert.js';
import { isListLike } from 'hyparquet/src/schema.js';
import { jsonIn } from '../json.js';
import { assertDifferentTitles, RowFault } from '../source.js';
import { dateText, decimalText, timestampText, timeText, type Unit } from '../times.js';
import { textOf } from '../utf8.js';

/** Converts a value of the package into one of a row. Throws RowFault. */
type Read = (value: unknown) => unknown;

/** A column with its titles. */
interface Leaf {
  /** The number of the column in the file. */
  readonly index: number;
  /** The path to the column from the root of the schema. */
  readonly path: readonly SchemaTree[];
}

/** A field of the rows: one column, or the columns of a list, a map or a structure. */
export interface Field {
  readonly name: string;
  readonly tree: SchemaTree;
  readonly leaves: readonly Leaf[];
  readonly read: Read;
}

/**
 * The fields of the rows. Removes the types from `schema`: with them the package rounds decimals and times. Throws an Error of
 * one line where two columns have the same title.
 */
export function fieldsOf(schema: SchemaElement[], file: string): Field[] {
  const root = parquetSchema({ schema });
  let columns = 0;
  const leavesOf = (tree: SchemaTree, path: readonly SchemaTree[]): Leaf[] => {
    const here = [...path, tree];
    if (tree.children.length === 0) return [{ index: columns++, path: here }];
    assertDifferentTitles(titlesOf(tree), tree.path.length === 0 ? file : `${tree.path.join('.')} of ${file}`);
    return tree.children.flatMap((child) => leavesOf(child, here));
  };
  assertDifferentTitles(titlesOf(root), file);
  return root.children.map((tree) => ({
    name: tree.element.name,
    tree,
    leaves: leavesOf(tree, [root]),
    read: readerOf(tree),
  }));
}

const titlesOf = ({ children }: SchemaTree): string[] => children.map(({ element }) => element.name);

/** Assembles the values of a field from those of its columns. */
export function assembled({ name, tree, leaves }: Field, columns: readonly unknown[][]): ArrayLike<unknown> {
  if (tree.children.length === 0) return columns[leaves[0]!.index]!;
  const parts = new Map(leaves.map(({ index, path }) => [path.at(-1)!.path.join('.'), columns[index]!] as const));
  assembleNested(parts, tree, DEFAULT_PARSERS);
  return parts.get(name)!;
}

function readerOf(tree: SchemaTree): Read {
  const read = orNull(readerOfOne(tree));
  return tree.element.repetition_type === 'REPEATED' ? listReader(read) : read;
}

const orNull =
  (read: Read): Read =>
  (value) =>
    value === undefined || value === null ? null : read(value);

const listReader =
  (read: Read): Read =>
  (values) =>
    (values as unknown[]).map(read);

/** The reader of one value of a field, which may be repeated. */
function readerOfOne(tree: SchemaTree): Read {
  const { element, children, path } = tree;
  const annotation = element.logical_type?.type ?? element.converted_type;
  const place = path.join('.');
  if (children.length === 0) {
    const read = leafReader({ ...element }, place);
    element.converted_type = undefined;
    element.logical_type = undefined;
    return read;
  }
  // If they are read as structures, maps keep the types of their keys, and variants their bytes.
  element.converted_type = annotation === 'LIST' ? 'LIST' : undefined;
  element.logical_type = undefined;
  if (isListLike(tree)) {
    const [inner] = children;
    return listReader(inner!.children.length === 1 ? readerOf(inner!.children[0]!) : orNull(readerOfOne(inner!)));
  }
  const readers = children.map((child) => [child.element.name, readerOf(child)] as const);
  const read: Read = (value) =>
    Object.fromEntries(readers.map(([name, of]) => [name, of((value as Record<string, unknown>)[name])]));
  const isMap = annotation === 'MAP' || annotation === 'MAP_KEY_VALUE';
  if (!isMap || children.length !== 1 || children[0]!.children.length !== 2) return read;
  const [entries] = titlesOf(tree);
  const [key, item] = titlesOf(children[0]!);
  return (value) => mapOf((read(value) as Record<string, Entry[]>)[entries!]!, key!, item!, place);
}

type Entry = Readonly<Record<string, unknown>>;

/** An object where all keys are texts or whole numbers, or else the list of entries. */
function mapOf(entries: Entry[], key: string, item: string, place: string): unknown {
  const keys = entries.map((entry) => entry[key]);
  if (!keys.every((each) => typeof each === 'string' || typeof each === 'bigint' || Number.isInteger(each)))
    return entries;
  if (new Set(keys.map(String)).size < keys.length) throw new RowFault(`${place} has two values of one key`);
  return Object.fromEntries(entries.map((entry, i) => [String(keys[i]), entry[item]]));
}

/** The reader of one column. */
function leafReader(element: SchemaElement, place: string): Read {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (converted === 'DECIMAL' || logical?.type === 'DECIMAL') {
    const scale = element.scale ?? (logical?.type === 'DECIMAL' ? logical.scale : 0);
    return (value) => decimalText(value instanceof Uint8Array ? signedOf(value) : BigInt(value as number), scale);
  }
  if (type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY') return bytesReader(element, place);
  if (type === 'INT96') return (value) => timestampText(value as bigint, 'NANOS', '');
  if (type === 'INT32' || type === 'INT64') return wholeReader(element);
  return (value) => value;
}

function bytesReader({ converted_type: converted, logical_type: logical }: SchemaElement, place: string): Read {
  switch (logical?.type ?? converted) {
    case 'STRING':
    case 'UTF8':
    case 'ENUM':
      return (bytes) => textOf(bytes as Uint8Array, place);
    case 'JSON':
      return (bytes) => jsonIn(Buffer.from(bytes as Uint8Array), place, { isExact: true });
    case 'UUID':
      return (bytes) => DEFAULT_PARSERS.uuidFromBytes(bytes as Uint8Array);
    case 'FLOAT16':
      return (bytes) => parseFloat16(bytes as Uint8Array);
    case 'INTERVAL':
      return (bytes) => intervalText(bytes as Uint8Array);
    default:
      return (bytes) => bytes;
  }
}

function wholeReader({ type, converted_type: converted, logical_type: logical }: SchemaElement): Read {
  if (converted === 'DATE' || logical?.type === 'DATE') return (value) => dayText(Number(value));
  if (logical?.type === 'TIMESTAMP') return timestampReader(logical.unit, logical.isAdjustedToUTC ? 'Z' : '');
  if (converted === 'TIMESTAMP_MILLIS') return timestampReader('MILLIS', 'Z');
  if (converted === 'TIMESTAMP_MICROS') return timestampReader('MICROS', 'Z');
  if (logical?.type === 'TIME') return (value) => timeText(BigInt(value as number), logical.unit);
  if (converted === 'TIME_MILLIS') return (value) => timeText(BigInt(value as number), 'MILLIS');
  if (converted === 'TIME_MICROS') return (value) => timeText(BigInt(value as number), 'MICROS');
  const isUnsigned = converted?.startsWith('UINT') === true || (logical?.type === 'INTEGER' && !logical.isSigned);
  if (!isUnsigned) return (value) => value;
  return type === 'INT64' ? (value) => BigInt.asUintN(64, value as bigint) : (value) => (value as number) >>> 0;
}

/** The values by which DuckDB represents infinite times. */
const ENDLESS = { days: 2 ** 31 - 1, micros: 2n ** 63n - 1n } as const;

function dayText(days: number): string {
  if (Math.abs(days) === ENDLESS.days) return days > 0 ? 'infinity' : '-infinity';
  return dateText(days);
}

const timestampReader =
  (unit: Unit, zone: '' | 'Z'): Read =>
  (value) => {
    const time = BigInt(value as number);
    if (unit === 'MICROS' && (time === ENDLESS.micros || time === -ENDLESS.micros))
      return time > 0n ? 'infinity' : '-infinity';
    return timestampText(time, unit, zone);
  };

/** The number with these bytes in big-endian two's complement. */
const signedOf = (bytes: Uint8Array): bigint =>
  bytes.length === 0 ? 0n : BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));

/** Formats months, days and milliseconds in ISO 8601, each unit separately: P1M2DT3.004S. */
function intervalText(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [months, days, millis] = [0, 4, 8].map((at) => view.getUint32(at, true));
  return `P${months}M${days}DT${millis! / 1_000}S`;
}
