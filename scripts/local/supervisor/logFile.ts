import { codeOf, createFile, DurableFile, move } from '../../../shared/files/durable.js';

/** A file of this size is renamed to `<name>.1`, in place of an older one. */
const LARGEST_BYTES = 16 * 1024 * 1024;

/** A log of lines in at most two files. */
export class LogFile {
  #waiting: string[] = [];
  #writing: Promise<void> | undefined;

  private constructor(
    readonly path: string,
    private file: DurableFile,
    private sizeBytes: number,
    private readonly largestBytes: number,
  ) {}

  static async open(path: string, largestBytes = LARGEST_BYTES): Promise<LogFile> {
    const file = await openOrCreate(path);
    return new LogFile(path, file, await file.sizeBytes(), largestBytes);
  }

  write(line: string): void {
    this.#waiting.push(line);
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when everything is written. */
  async close(): Promise<void> {
    while (this.#writing) await this.#writing;
    await this.file.close();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const bytes = Buffer.from(`${this.#waiting.join('\n')}\n`);
      this.#waiting = [];
      try {
        if (this.sizeBytes + bytes.length > this.largestBytes && this.sizeBytes > 0) await this.#roll();
        await this.file.write(bytes, this.sizeBytes);
        this.sizeBytes += bytes.length;
      } catch (error) {
        // A full disk must not end the supervisor; the service reports its own failures to write.
        if (codeOf(error) === undefined) throw error;
      }
    }
  }

  async #roll(): Promise<void> {
    await this.file.close();
    await move(this.path, `${this.path}.1`);
    this.file = await openOrCreate(this.path);
    this.sizeBytes = 0;
  }
}

async function openOrCreate(path: string): Promise<DurableFile> {
  await createFile(path, '');
  return DurableFile.open(path);
}
