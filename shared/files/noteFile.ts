/**
 * A short JSON note in a file of one line, written in place. It outlives the process; it waits for no disk, so a power failure
 * may lose it.
 */
import { DurableFile, ifThere } from './durable.js';

/** The content at once; a note is a few kilobytes. */
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

  /** Replaces the note; undefined deletes it. The rest of a longer note stays behind the end of the line. */
  write(note: unknown): void {
    this.file.writeNow(Buffer.from(`${note === undefined ? '' : JSON.stringify(note)}${END}`), 0);
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
