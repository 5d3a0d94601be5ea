/** An export: a collection's log in one file, between a header and a trailer that describe it. */
import { equal, readU32 } from './bytes.js';
import { counted } from './counted.js';
import { FileReading, type Readable } from './fileReading.js';
import { RunningHash } from './hashing.js';
import { type JsonObject, objectOf, parseJson } from './json.js';
import type { EventPlace } from './recordTable.js';
import { type FrameSource, type Place, type PlacedFrame, SourceRefused } from './source.js';

const MAGIC = 'VOUCHLOG1\n';
const HASH_BYTES = 32;
const JSON_BYTES_MAX = 1 << 20;
/** Larger than any commit. */
const FRAME_BYTES_MAX = 1 << 26;

export class ExportFile implements FrameSource {
  readonly #file: FileReading;
  /** The hash of all bytes read in order. */
  readonly #hash = new RunningHash();
  #header: JsonObject | undefined;
  #trailer: JsonObject | undefined;
  #trailerAt = 0;
  #hashHolds = false;

  /** `name`: for messages. */
  constructor(
    private readonly name: string,
    file: Readable,
    sizeBytes: number,
  ) {
    this.#file = new FileReading(file, sizeBytes, (bytes) => this.#hash.update(bytes));
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  /** The header; undefined until `frames` has begun. */
  get header(): JsonObject | undefined {
    return this.#header;
  }

  /** The trailer; undefined until `frames` is at its end. */
  get trailer(): JsonObject | undefined {
    return this.#trailer;
  }

  get trailerPlace(): Place {
    return this.#at(this.#trailerAt);
  }

  /** Whether the hash at the end matches all bytes before it. */
  get hashHolds(): boolean {
    return this.#hashHolds;
  }

  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    const magic = String.fromCharCode(...((await this.#file.take(MAGIC.length)) ?? []));
    if (magic !== MAGIC)
      throw this.#refuse(
        0,
        /^VOUCHLOG\d\n$/.test(magic)
          ? `this is an export of version ${magic[8]}: only version 1 is known here`
          : 'this is not an export: it does not begin with VOUCHLOG1',
      );
    this.#header = await this.#json('header');
    for (;;) {
      const at = this.#file.at;
      const length = await this.#length('a frame');
      if (length === 0) break;
      if (length > FRAME_BYTES_MAX) throw this.#refuse(at, `a frame of ${length} bytes: there are none that large`);
      const position = this.#file.at;
      const bytes = await this.#file.take(length);
      if (bytes === undefined) throw this.#unfinished('within a frame');
      yield { position, bytes };
    }
    this.#trailerAt = this.#file.at;
    this.#trailer = await this.#json('trailer');
    await this.#checkHash();
  }

  readAgain({ position, offset, length }: EventPlace): Promise<Uint8Array> {
    return this.#file.read(position + offset, length);
  }

  placeOf(position: number, offset: number): Place {
    return this.#at(position + offset);
  }

  async close(): Promise<void> {
    this.#hash.close();
    await this.#file.close();
  }

  async #length(of: string): Promise<number> {
    const bytes = await this.#file.take(4);
    if (bytes === undefined) throw this.#unfinished(`where the length of ${of} should be`);
    return readU32(bytes, 0);
  }

  async #json(what: string): Promise<JsonObject> {
    const at = this.#file.at;
    const length = await this.#length(`the ${what}`);
    if (length > JSON_BYTES_MAX) throw this.#refuse(at, `a ${what} of ${length} bytes: there are none that large`);
    const bytes = await this.#file.take(length);
    if (bytes === undefined) throw this.#unfinished(`within its ${what}`);
    try {
      return objectOf(parseJson(bytes, `the ${what}`), `the ${what}`);
    } catch (error) {
      throw this.#refuse(at + 4, (error as Error).message);
    }
  }

  async #checkHash(): Promise<void> {
    const at = this.#file.at;
    const computed = this.#hash.digest();
    const stored = await this.#file.take(HASH_BYTES);
    if (stored === undefined) throw this.#unfinished('within the hash at its end');
    this.#hashHolds = equal(stored, computed);
    if (this.#file.left > 0)
      throw this.#refuse(
        at + HASH_BYTES,
        `${counted(this.#file.left, 'more byte follows', 'more bytes follow')} the end of the export`,
      );
  }

  #unfinished(where: string): SourceRefused {
    return this.#refuse(this.#file.sizeBytes, `the export is not finished: it ends ${where}`);
  }

  #refuse(byte: number, what: string): SourceRefused {
    return new SourceRefused(this.#at(byte), what);
  }

  #at(byte: number): Place {
    return { name: this.name, byte };
  }
}
