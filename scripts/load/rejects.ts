/** Handles rows that do not fit: writes `{"row", "reason"}` as a line of a file, or ends the load. */

import { lstat, open, readFile } from 'node:fs/promises';
import { DurableFile, ifThere, replaceFile } from '../../shared/files/durable.js';
import { printable } from '../terminal/line.js';
import type { Unreadable } from './source.js';

/** A row that does not fit ends the load. */
export class RowRejected extends Error {}

/** The message about a row without `--rejects`. Others may fit. */
export const rejection = ({ number, fault }: Unreadable): string =>
  `${rejected(number, fault)}; --rejects FILE writes such rows there and skips them`;

/** The message about the first row where none of the rows that were looked at fits: `--rejects` would not help. */
export function noneFits({ number, fault }: Unreadable, { looked, isAll }: Looked): string {
  const others = isAll ? '; no row fits' : looked === 1 ? '' : `; none of the first ${looked} rows fits`;
  return `${rejected(number, fault)}${others}`;
}

/** The number of rows that were looked at, and whether the source has no others. */
export interface Looked {
  readonly looked: number;
  readonly isAll: boolean;
}

const rejected = (number: number, reason: string): string => `row ${number}: ${printable(reason)}`;

const FIRST_LINE = /^(?:$|\{"row":\d+,"reason":")/;
const FIRST_BYTES = 64;

/** Throws an Error of one line if the file exists and holds something else than rejected rows: it would be lost. */
export async function assertRejectsFile(path: string | undefined): Promise<void> {
  const found = path === undefined ? undefined : await ifThere(lstat(path));
  if (found === undefined || (found.isFile() && FIRST_LINE.test(await beginOf(path!)))) return;
  throw new Error(`${path} is not a file of rejected rows, and would be replaced: name another one with --rejects`);
}

async function beginOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

export class Rejects {
  private constructor(
    private readonly file: DurableFile | undefined,
    private sizeBytes: number,
  ) {}

  /**
   * `path` undefined: the first such row ends the load. Removes the rows after `doneRow` from the file, since they are read
   * again.
   */
  static async open(path: string | undefined, doneRow: number): Promise<Rejects> {
    if (path === undefined) return new Rejects(undefined, 0);
    const text = doneRow === 0 ? undefined : await ifThere(readFile(path, 'utf8'));
    await replaceFile(
      path,
      (text ?? '')
        .split('\n')
        .filter(isOfRowUpTo(doneRow))
        .map((line) => `${line}\n`)
        .join(''),
    );
    const file = await DurableFile.open(path);
    return new Rejects(file, await file.sizeBytes());
  }

  /** Throws RowRejected without a file. */
  async add(number: number, reason: string): Promise<void> {
    if (this.file === undefined) throw new RowRejected(rejection({ number, fault: reason }));
    const line = Buffer.from(`${JSON.stringify({ row: number, reason })}\n`, 'utf8');
    const at = this.sizeBytes;
    this.sizeBytes += line.length;
    await this.file.write(line, at);
  }

  async close(): Promise<void> {
    await this.file?.close();
  }
}

/** Whether a line is of a row up to `doneRow`; false for a line that was cut short. */
const isOfRowUpTo =
  (doneRow: number) =>
  (line: string): boolean => {
    try {
      return (JSON.parse(line) as { row: number }).row <= doneRow;
    } catch {
      return false;
    }
  };
