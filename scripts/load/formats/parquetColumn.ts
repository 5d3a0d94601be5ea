/**
 * The values of one column within a group of rows, page by page. The package reads a whole group again for each range of its
 * rows, so its readers of single pages are called here.
 */
import type { FileHandle } from 'node:fs/promises';
import type { ColumnMetaData, SchemaTree } from 'hyparquet';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { convert, DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { compressors } from 'hyparquet-compressors';

/** So many bytes from a place, or fewer where the file ends before. */
export async function bytesAt(file: FileHandle, from: number, count: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  const { bytesRead } = await file.read(bytes, 0, count, from);
  return bytesRead === count ? bytes.buffer : bytes.buffer.slice(0, bytesRead);
}

type Decoder = Parameters<typeof readPage>[2];
type Header = ReturnType<typeof parquetHeader>;
type Values = ArrayLike<unknown>;

/** Bytes that are asked for at once: small pages are not read one by one. */
const PIECE_BYTES = 256 << 10;
/** Tried first for the header of a page, which may have the least and the greatest value of the page in it. */
const HEADER_BYTES = 1_024;

/** `fieldsOf` removes the types that the package would round, except this one: the values are numbers of the file, and bytes. */
const PARSERS = { ...DEFAULT_PARSERS, timestampFromNanoseconds: (nanos: bigint): bigint => nanos };

type Decompress = NonNullable<(typeof compressors)[keyof typeof compressors]>;

/** A page of nulls holds no bytes, which the package does not expect from LZ4. */
const orEmpty =
  (decompress: Decompress): Decompress =>
  (input, sizeBytes) =>
    sizeBytes === 0 ? new Uint8Array() : decompress(input, sizeBytes);

const DECOMPRESSORS = Object.fromEntries(
  Object.entries(compressors).map(([codec, decompress]) => [codec, orEmpty(decompress)]),
) as typeof compressors;

export class ColumnReader {
  readonly #decoder: Decoder;
  /** Whether a row may have several values, and so end in the next page. */
  readonly #isRepeated: boolean;
  readonly #endBytes: number;
  /** Where the bytes that were not read begin. */
  #atBytes: number;
  /** Read, but not taken. */
  #ahead: Uint8Array = new Uint8Array();
  #dictionary: Parameters<typeof readPage>[3];
  /** Complete rows. */
  #rows: Values = [];
  #taken = 0;
  /** The last row of a page, which the next page may continue. */
  #open: unknown[] = [];

  /** `path`: from the root of the schema to the column. */
  constructor(
    private readonly file: FileHandle,
    metadata: ColumnMetaData,
    path: SchemaTree[],
  ) {
    const { type, codec, dictionary_page_offset: dictionary, data_page_offset: data } = metadata;
    const pathInSchema = path.slice(1).map(({ element }) => element.name);
    const decoding = { parsers: PARSERS, compressors: DECOMPRESSORS, utf8: false };
    this.#decoder = { type, codec, pathInSchema, element: path.at(-1)!.element, schemaPath: path, ...decoding };
    this.#isRepeated = getMaxRepetitionLevel(path) > 0;
    this.#atBytes = Number(dictionary !== undefined && dictionary > 0n && dictionary < data ? dictionary : data);
    this.#endBytes = this.#atBytes + Number(metadata.total_compressed_size);
  }

  /** Reads on until there is a row that is not taken. Returns how many there are; 0: the column has ended. */
  async fill(): Promise<number> {
    while (this.#taken >= this.#rows.length && this.#ahead.length + this.#endBytes - this.#atBytes > 0)
      await this.#readPage();
    if (this.#taken >= this.#rows.length && this.#open.length > 0) {
      this.#hold(this.#open);
      this.#open = [];
    }
    return this.#rows.length - this.#taken;
  }

  /** The next rows, of those that are there. */
  take(count: number): unknown[] {
    const taken = Array.prototype.slice.call(this.#rows, this.#taken, this.#taken + count);
    this.#taken += count;
    return taken;
  }

  #hold(rows: Values): void {
    this.#rows = rows;
    this.#taken = 0;
  }

  async #readPage(): Promise<void> {
    const header = await this.#header();
    const bytes = await this.#lookAhead(header.compressed_page_size);
    this.#ahead = bytes.subarray(header.compressed_page_size);
    const page = { view: viewOf(bytes), offset: 0 };
    if (header.type === 'INDEX_PAGE' || (header.type !== 'DICTIONARY_PAGE' && valuesIn(header) === 0)) return;
    const open = this.#open;
    const { data } = readPage(page, header, this.#decoder, this.#dictionary, this.#isRepeated ? open : undefined, 0);
    if (header.type === 'DICTIONARY_PAGE') this.#dictionary = convert(data!, this.#decoder);
    else if (!this.#isRepeated) this.#hold(data!);
    else {
      this.#open = open.splice(open.length - 1);
      this.#hold(open);
    }
  }

  async #header(): Promise<Header> {
    for (let sizeBytes = HEADER_BYTES; ; sizeBytes *= 4) {
      const bytes = await this.#lookAhead(sizeBytes);
      const reader = { view: viewOf(bytes), offset: 0 };
      try {
        const header = parquetHeader(reader);
        this.#ahead = bytes.subarray(reader.offset);
        return header;
      } catch (error) {
        // The header is longer than the bytes that were read.
        if (!(error instanceof RangeError) || bytes.length < sizeBytes) throw error;
      }
    }
  }

  /** So many of the next bytes at least, or fewer where the column ends before. */
  async #lookAhead(count: number): Promise<Uint8Array> {
    const missing = Math.min(Math.max(count - this.#ahead.length, PIECE_BYTES), this.#endBytes - this.#atBytes);
    if (count > this.#ahead.length && missing > 0) {
      const more = new Uint8Array(await bytesAt(this.file, this.#atBytes, missing));
      this.#atBytes += missing;
      const bytes = new Uint8Array(this.#ahead.length + more.length);
      bytes.set(this.#ahead);
      bytes.set(more, this.#ahead.length);
      this.#ahead = bytes;
    }
    return this.#ahead;
  }
}

const viewOf = ({ buffer, byteOffset, length }: Uint8Array): DataView => new DataView(buffer, byteOffset, length);

const valuesIn = ({ data_page_header: first, data_page_header_v2: second }: Header): number =>
  (first ?? second)?.num_values ?? 0;
