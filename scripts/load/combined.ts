/** Sources that combine other sources. */
import { counted, grouped } from '../terminal/line.js';
import type { Looked } from './rejects.js';
import { isUnreadable, type RawRow, type Source, type Unreadable } from './source.js';

/** Opens a source; undefined: it can be read once, like standard input. */
export type Opens = (() => Promise<Source>) | undefined;

/** Throws an Error of one line if two sources have different numbers of rows: fields would be joined to the wrong rows. */
export async function assertEqualLengths(one: Opens, other: Opens, signal: AbortSignal): Promise<void> {
  if (one === undefined || other === undefined) return;
  const [first, second] = [await one(), await other()];
  const [rows, others] = [await lengthOf(first, signal), await lengthOf(second, signal)];
  if (rows !== others)
    throw new Error(
      `${second.name} has ${counted(others, 'row')}, and ${first.name} ${grouped(rows)}: each row of one needs a row of the other`,
    );
}

/** The number of rows. A source that does not say it is read to its end. */
async function lengthOf(source: Source, signal: AbortSignal): Promise<number> {
  let rows = 0;
  for await (const _ of source.rows(signal)) {
    const total = source.total?.();
    if (total !== undefined) return total;
    rows += 1;
  }
  return rows;
}

/** The rows of one source with the fields of another: the first of both, the second of both, and so on. */
export function beside(source: Source, other: Source): Source {
  return {
    ...source,
    hasColumns: source.hasColumns === true && other.hasColumns === true,
    async *rows(signal): AsyncGenerator<RawRow | Unreadable> {
      const others = other.rows(signal)[Symbol.asyncIterator]();
      try {
        for await (const row of source.rows(signal)) {
          const { value, done } = await others.next();
          if (done === true) throw new Error(`${other.name} ends before row ${row.number} of ${source.name}`);
          yield together(row, value, other.name);
        }
        if ((await others.next()).done !== true) throw new Error(`${other.name} has more rows than ${source.name}`);
      } finally {
        await others.return?.();
      }
    },
  };
}

function together(row: RawRow | Unreadable, other: RawRow | Unreadable, otherName: string): RawRow | Unreadable {
  const { number } = row;
  if (isUnreadable(row)) return row;
  if (isUnreadable(other)) return { number, fault: `in ${otherName}: ${other.fault}` };
  const both = Object.keys(row.fields).find((name) => Object.hasOwn(other.fields, name));
  if (both !== undefined) return { number, fault: `${otherName} has a field ${both} too: rename one` };
  return { number, fields: { ...other.fields, ...row.fields } };
}

/** A source that has been opened, and its first row that fits. */
export interface Opened {
  readonly source: Source;
  /** Undefined: no row fits. */
  readonly first: RawRow | undefined;
  /** The first row that does not fit, if it precedes `first`. */
  readonly fault: Unreadable | undefined;
  readonly looked: Looked;
  /** Closes the source, also if its rows were not read. */
  close(): Promise<void>;
}

type FaultOf = (row: RawRow) => Promise<string | undefined>;

/**
 * Reads up to the first row in which `faultOf` finds no fault, and at most `most` rows. Throws an Error of one line if the source
 * is empty, and what `faultOf` throws.
 */
export async function opened(source: Source, signal: AbortSignal, faultOf: FaultOf, most: number): Promise<Opened> {
  const rows = source.rows(signal)[Symbol.asyncIterator]();
  const close = async (): Promise<void> => {
    await rows.return?.();
  };
  const seen: (RawRow | Unreadable)[] = [];
  const next = async (): Promise<IteratorResult<RawRow | Unreadable>> => {
    const before = seen.shift();
    return before === undefined ? rows.next() : { value: before, done: false };
  };
  const end = async (): Promise<IteratorResult<never>> => {
    await close();
    return { value: undefined, done: true };
  };
  // Do not use a generator: it would delay every row by three promises.
  const all = { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  try {
    const { first, isAll } = await firstFitting(rows, seen, faultOf, most);
    if (seen.length === 0) throw new Error(`${source.name} has no row that can be read`);
    const [unfit] = seen;
    const fault = isUnreadable(unfit!) ? unfit : undefined;
    return { source: { ...source, rows: () => all }, first, fault, looked: { looked: seen.length, isAll }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Finds the first row that fits. Adds every row before it to `seen`, with the fault of each that does not fit. */
async function firstFitting(
  rows: AsyncIterator<RawRow | Unreadable>,
  seen: (RawRow | Unreadable)[],
  faultOf: FaultOf,
  most: number,
): Promise<{ readonly first: RawRow | undefined; readonly isAll: boolean }> {
  while (seen.length < most) {
    const { value: row, done } = await rows.next();
    if (done === true) return { first: undefined, isAll: true };
    const wrong = isUnreadable(row) ? row.fault : await faultOf(row);
    if (wrong === undefined) {
      seen.push(row);
      return { first: row as RawRow, isAll: false };
    }
    seen.push({ number: row.number, fault: wrong });
  }
  return { first: undefined, isAll: false };
}
