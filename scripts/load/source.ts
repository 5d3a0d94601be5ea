/** Sources of rows: files of any format, standard input, and other services. */
import { counted } from '../terminal/line.js';

/** One row in the form of its source. Numbers count from 1. */
export interface RawRow {
  readonly number: number;
  readonly fields: Fields;
}

/**
 * Values of JSON, and types that JSON lacks: `bigint`, `Uint8Array` for bytes, typed arrays of numbers for vectors, and
 * UnreadNumber. Times, decimals and all other types are texts.
 */
export type Fields = Readonly<Record<string, unknown>>;

/** A number of JSON that a double does not hold to its last digit. */
export class UnreadNumber {
  constructor(readonly value: number) {}
}

/** A row that the source cannot read, though it can read the next one. */
export interface Unreadable {
  readonly number: number;
  readonly fault: string;
}

/** A fault of one row; the message is one line. */
export class RowFault extends Error {}

export interface Source {
  /** The name of the source in outputs. */
  readonly name: string;
  /** The fields in which a source of this kind keeps the vector and the text. */
  readonly usual: { readonly vector: readonly string[]; readonly text: readonly string[] };
  /** Whether all rows have the same fields: the columns of a table. */
  readonly hasColumns?: boolean;
  /** Printed before its rows are loaded. */
  readonly remark?: string | undefined;
  /** The number of rows as estimated after reading `read` of them; undefined: unknown. */
  expected(read: number): number | undefined;
  /** The exact number of rows, once the first one was read; undefined: the source says it only at its end. */
  total?(): number | undefined;
  /**
   * Reads the rows; to be called once. Throws an Error of one line if the source cannot be read to its end, or if `signal` is
   * aborted. Returning the iterator closes the source.
   */
  rows(signal?: AbortSignal): AsyncIterable<RawRow | Unreadable>;
}

export const isUnreadable = (row: RawRow | Unreadable): row is Unreadable => 'fault' in row;

export const USUAL: Source['usual'] = {
  vector: ['vector', 'embedding', 'embeddings', 'values'],
  text: ['text', 'document', 'content'],
};

/** Throws an Error of one line if a title appears twice: only one of the two columns would be loaded. */
export function assertDifferentTitles(titles: readonly string[], name: string): void {
  const seen = new Set<string>();
  for (const title of titles) {
    if (seen.has(title)) throw new Error(`${name} has two columns of the title ${JSON.stringify(title)}: rename one`);
    seen.add(title);
  }
}

/** Throws an Error of one line if more rows were read than the source had counted. A source that grows might never end. */
export function assertNoMore(name: string, expected: number, read: number): void {
  if (read > expected) assertAllRead(name, expected, read);
}

/** Throws an Error of one line unless as many rows were read as the source had when the load began. */
export function assertAllRead(name: string, expected: number, read: number): void {
  if (read !== expected)
    throw new Error(
      `${name} had ${counted(expected, 'row')} when the load began, and ${counted(read, 'was', 'were')} read: load it again`,
    );
}

/** The row with the result of `fields`, or the fault that it throws. */
export function rowFrom(number: number, fields: () => Fields): RawRow | Unreadable {
  try {
    return { number, fields: fields() };
  } catch (error) {
    if (error instanceof RowFault) return { number, fault: error.message };
    throw error;
  }
}
