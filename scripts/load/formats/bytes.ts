/** Files and standard input, read forward and piece by piece. */
import { createReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { withName } from '../../../shared/files/fileErrors.js';

export interface ByteSource {
  /** Undefined for standard input. */
  readonly path: string | undefined;
  /** Undefined where it is not known before the end. */
  readonly sizeBytes: number | undefined;
}

/** Fails when `signal` is aborted. A reader that stops before the end destroys the stream. */
export function streamOf({ path }: ByteSource, signal: AbortSignal | undefined): Readable {
  const stream = path === undefined ? process.stdin : createReadStream(path, { highWaterMark: PIECE_BYTES });
  stream.on('error', (error: Error) => withName(error, path ?? 'standard input'));
  return signal === undefined ? stream : addAbortSignal(signal, stream);
}

const PIECE_BYTES = 1 << 20;

/** Takes exactly so many bytes at a time from a stream of pieces. */
export class ByteReader {
  readonly #stream: Readable;
  readonly #pieces: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  #readBytes = 0;

  constructor(source: ByteSource, signal: AbortSignal | undefined) {
    this.#stream = streamOf(source, signal);
    this.#pieces = this.#stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  get readBytes(): number {
    return this.#readBytes;
  }

  /** The next bytes, or fewer if the stream ends before. They are valid until the next call. */
  async take(count: number): Promise<Buffer> {
    if (this.#held.length < count) {
      const pieces = [this.#held];
      let sizeBytes = this.#held.length;
      while (sizeBytes < count) {
        const { value, done } = await this.#pieces.next();
        if (done === true) break;
        pieces.push(value);
        sizeBytes += value.length;
      }
      this.#held = Buffer.concat(pieces, sizeBytes);
    }
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(taken.length);
    this.#readBytes += taken.length;
    return taken;
  }

  close(): void {
    this.#stream.destroy();
  }
}
