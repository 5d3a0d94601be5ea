/** The rows that do not fit: written to a file of `{"row", "reason"}` a line, or the end of the load. */
import { DurableFile, deleteFile, isThere } from '../../shared/files/durable.js';
import { printable } from '../verify/print.js';

/** A row that does not fit ends the load. */
export class RowRejected extends Error {}

export const rejection = (number: number, reason: string): string =>
  `row ${number}: ${printable(reason)}; --rejects FILE writes such rows there and goes on with the others`;

export class Rejects {
  private constructor(
    private readonly file: DurableFile | undefined,
    private sizeBytes: number,
  ) {}

  /** `path` undefined: the first such row ends the load. `isAnew`: the file is emptied. */
  static async open(path: string | undefined, isAnew: boolean): Promise<Rejects> {
    if (path === undefined) return new Rejects(undefined, 0);
    if (isAnew) await deleteFile(path);
    const file = (await isThere(path)) ? await DurableFile.open(path) : await DurableFile.create(path);
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
