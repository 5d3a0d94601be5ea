/**
 * A short JSON note in a file, written in place. It outlives the process. Writes do not wait for the disk, so a power failure
 * may lose it.
 */
import { DurableFile, ifThere } from './durable.js';

/** Largest number of bytes read; a note has a few kilobytes. */
const READ_BYTES_MAX = 1 << 20;
const END = '\n';

export class NoteFile {
  private constructor(private readonly file: DurableFile) {}

  static async open(path: string): Promise<NoteFile> {
    return new NoteFile((await ifThere(DurableFile.open(path))) ?? (await DurableFile.create(path)));
  }

  /** Undefined for a missing or damaged note. */
  async read(): Promise<unknown> {
    const bytes = Buffer.alloc(Math.min(await this.file.sizeBytes(), READ_BYTES_MAX));
    await this.file.read(bytes, 0);
    const [line = ''] = bytes.toString().split(END);
    try {
      return JSON.parse(line);
    } catch {
      return undefined;
    }
  }

  /** Replaces the note; undefined deletes it. The file keeps the end of a longer note behind the first line, which is never read. */
  write(note: unknown): void {
    this.file.writeNow(Buffer.from(`${note === undefined ? '' : JSON.stringify(note)}${END}`), 0);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
