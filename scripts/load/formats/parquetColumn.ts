/**
 * Reads the values of one column within a row group, page by page. The package would read a whole group again for each range of
 * rows, so its readers of single pages are called here.
 */
import type { FileHandle } from 'node:fs/promises';
import type { ColumnMetaData, SchemaTree } from 'hyparquet';
import { parquetHeader, readPage } from 'hyparquet/src/column.js';
import { convert, DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import { compressors } from 'hyparquet-compressors';

/** Reads `count` bytes from `from` on, or fewer if the file ends before. */
export async function bytesAt(file: FileHandle, from: number, count: number): Promise<ArrayBuffer> {
  const bytes = new Uint8Array(count);
  const { bytesRead } = await file.read(bytes, 0, count, from);
  return bytesRead === count ? bytes.buffer : bytes.buffer.slice(0, bytesRead);
}

type Decoder = Parameters<typeof readPage>[2];
type Header = ReturnType<typeof parquetHeader>;
type Values = ArrayLike<unknown>;

/** Bytes of one read, so that small pages are not read one by one. */
const PIECE_BYTES = 256 << 10;
/** The first guess at the size of a page's header, which may contain the least and the greatest value of the page. */
const HEADER_BYTES = 1_024;

/** `fieldsOf` removes the types whose values the package would round, except this one. All values are numbers of the file, or bytes. */
const PARSERS = { ...DEFAULT_PARSERS, timestampFromNanoseconds: (nanos: bigint): bigint => nanos };

type Decompress = NonNullable<(typeof compressors)[keyof typeof compressors]>;

/** Decompresses a page that may be empty, as one of nulls is: the package does not expect that from LZ4. */
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
  /** Bytes that were read, but not used yet. */
  #ahead: Uint8Array = new Uint8Array();
  #dictionary: Parameters<typeof readPage>[3];
  /** Complete rows; the first `#taken` were returned. */
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

  /** Reads until there are rows that were not taken. Returns their number; 0: the column has ended. */
  async fill(): Promise<number> {
    while (this.#taken >= this.#rows.length && this.#ahead.length + this.#endBytes - this.#atBytes > 0)
      await this.#readPage();
    if (this.#taken >= this.#rows.length && this.#open.length > 0) {
      this.#hold(this.#open);
      this.#open = [];
    }
    return this.#rows.length - this.#taken;
  }

  /** Takes the next rows, at most those that `fill` has read. */
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

  /** Returns at least the next `count` bytes, or fewer if the column ends before. */
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
