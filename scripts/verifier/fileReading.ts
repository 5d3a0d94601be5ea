import { type FileHandle, open } from 'node:fs/promises';

const CHUNK_BYTES = 1 << 20;

/** What can be read of an open file. */
export type Readable = Pick<FileHandle, 'close'> & {
  read(into: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
};

/** Reads a file from front to back in large pieces, and single parts of it anywhere. What grows behind its end is not seen. */
export class FileReading {
  #chunk: Buffer = Buffer.alloc(0);
  #chunkAt = 0;
  #at = 0;

  /** `onRead` is given every byte that `take` goes over, in order. */
  constructor(
    private readonly file: Readable,
    readonly sizeBytes: number,
    private readonly onRead: (bytes: Buffer) => void = () => {},
  ) {}

  static async open(path: string): Promise<FileReading> {
    const file = await open(path, 'r');
    return new FileReading(file, (await file.stat()).size);
  }

  /** Of the byte that comes next. */
  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.sizeBytes - this.#at;
  }

  /** The next bytes, or undefined where there are fewer. Valid until the next call. */
  async take(length: number): Promise<Buffer | undefined> {
    if (length > this.left) return undefined;
    if (this.#at + length > this.#chunkAt + this.#chunk.length) {
      this.#chunk = await this.read(this.#at, Math.max(length, Math.min(CHUNK_BYTES, this.left)));
      this.#chunkAt = this.#at;
    }
    const from = this.#at - this.#chunkAt;
    if (from + length > this.#chunk.length) return undefined;
    this.#at += length;
    const bytes = this.#chunk.subarray(from, from + length);
    this.onRead(bytes);
    return bytes;
  }

  /** A part of the file: shorter where that ends. */
  async read(at: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.file.read(bytes, done, length - done, at + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
