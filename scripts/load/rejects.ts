/** The rows that do not fit: written to a file of `{"row", "reason"}` a line, or the end of the load. */

import { readFile } from 'node:fs/promises';
import { DurableFile, ifThere, replaceFile } from '../../shared/files/durable.js';
import { printable } from '../terminal/line.js';

/** A row that does not fit ends the load. */
export class RowRejected extends Error {}

export const rejection = (number: number, reason: string): string =>
  `row ${number}: ${printable(reason)}; --rejects FILE writes such rows there and goes on with the others`;

export class Rejects {
  private constructor(
    private readonly file: DurableFile | undefined,
    private sizeBytes: number,
  ) {}

  /**
   * `path` undefined: the first such row ends the load. The file keeps its rows up to `doneRow` only: later ones are
   * read again.
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

  /** Throws RowRejected where there is no file for it. */
  async add(number: number, reason: string): Promise<void> {
    if (this.file === undefined) throw new RowRejected(rejection(number, reason));
    const line = Buffer.from(`${JSON.stringify({ row: number, reason })}\n`, 'utf8');
    const at = this.sizeBytes;
    this.sizeBytes += line.length;
    await this.file.write(line, at);
  }

  async close(): Promise<void> {
    await this.file?.close();
  }
}

/** False of a line that was cut short too. */
const isOfRowUpTo =
  (doneRow: number) =>
  (line: string): boolean => {
    try {
      return (JSON.parse(line) as { row: number }).row <= doneRow;
    } catch {
      return false;
    }
  };
