const CHUNK_BYTES = 1 << 20;

/** An open file, or another source of bytes by position: a `FileHandle` of Node, or a `Blob` behind `slice`. */
export interface Readable {
  /** Reads up to `length` bytes from `position` into `into` at `offset`; 0 bytes only at the end. */
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  close(): Promise<void>;
}

/** Reads a file from front to back in large pieces, and single parts of it anywhere. It ends at `sizeBytes`, even if it grows. */
export class FileReading {
  #chunk: Uint8Array = new Uint8Array(0);
  #chunkAt = 0;
  #at = 0;

  /** `onRead` gets every byte that `take` has read, in order. */
  constructor(
    private readonly file: Readable,
    readonly sizeBytes: number,
    private readonly onRead: (bytes: Uint8Array) => void = () => {},
  ) {}

  /** The position of the next byte. */
  get at(): number {
    return this.#at;
  }

  get left(): number {
    return this.sizeBytes - this.#at;
  }

  /** The next bytes; undefined if there are fewer. Valid until the next call. */
  async take(length: number): Promise<Uint8Array | undefined> {
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

  /** A part of the file; shorter at its end. */
  async read(at: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
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
