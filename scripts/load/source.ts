/** What rows are read from: a file of any format, standard input, or another service. */

/** One row as its source has it. Its number counts from 1. */
export interface RawRow {
  readonly number: number;
  readonly fields: Fields;
}

export type Fields = Readonly<Record<string, unknown>>;

/** A row that the source cannot read, though it can go on behind it. */
export interface Unreadable {
  readonly number: number;
  readonly fault: string;
}

export interface Source {
  /** For people. */
  readonly name: string;
  /** The fields in which a source of this kind keeps the vector and the text. */
  readonly usual: { readonly vector: readonly string[]; readonly text: readonly string[] };
  /** How many rows there are, as far as is known after `read` of them; undefined: nothing is known. */
  expected(read: number): number | undefined;
  /** Once. Throws an Error of one line where the source cannot be read, or not on. */
  rows(): AsyncIterable<RawRow | Unreadable>;
}

export const isUnreadable = (row: RawRow | Unreadable): row is Unreadable => 'fault' in row;

export const USUAL: Source['usual'] = {
  vector: ['vector', 'embedding', 'embeddings', 'values'],
  text: ['text', 'document', 'content'],
};
