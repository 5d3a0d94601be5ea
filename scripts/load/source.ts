/** Sources of rows: files of any format, standard input, and other services. */

/** One row as its source has it. Its number counts from 1. */
export interface RawRow {
  readonly number: number;
  readonly fields: Fields;
}

/**
 * Values as JSON has them, and what JSON lacks: `bigint`, `Uint8Array` for bytes, typed arrays of numbers for vectors, and
 * UnreadNumber. Times, decimals and all other types are texts.
 */
export type Fields = Readonly<Record<string, unknown>>;

/** A number of JSON that a double does not hold to its last digit. */
export class UnreadNumber {
  constructor(readonly value: number) {}
}

/** A row that the source cannot read, though it can continue behind it. */
export interface Unreadable {
  readonly number: number;
  readonly fault: string;
}

/** A fault of one row; the message is one line. */
export class RowFault extends Error {}

export interface Source {
  /** For people. */
  readonly name: string;
  /** The fields in which a source of this kind keeps the vector and the text. */
  readonly usual: { readonly vector: readonly string[]; readonly text: readonly string[] };
  /** Printed before its rows are loaded. */
  readonly remark?: string | undefined;
  /** How many rows there are, as far as is known after `read` of them; undefined: nothing is known. */
  expected(read: number): number | undefined;
  /**
   * Once. Throws an Error of one line where the source cannot be read, or not on, and where `signal` is aborted. Returning the
   * iterator closes the source.
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

/** Throws an Error of one line unless as many rows were read as the source counted when the load began. */
export function assertAllRead(name: string, counted: number, read: number): void {
  if (read !== counted)
    throw new Error(`${name} had ${counted} rows when the load began, and ${read} were read: load it again`);
}

/** The row that `fields` makes, or the fault that it throws. */
export function rowFrom(number: number, fields: () => Fields): RawRow | Unreadable {
  try {
    return { number, fields: fields() };
  } catch (error) {
    if (error instanceof RowFault) return { number, fault: error.message };
    throw error;
  }
}
