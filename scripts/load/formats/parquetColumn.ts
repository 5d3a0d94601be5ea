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

/** Read for the header of a page, which may have the least and the greatest value of the page in it. */
const HEADER_BYTES = 4_096;
const HEADER_MAX_BYTES = 64 << 20;

/** Types that the package would round are annotated no more: what is read are numbers of the file, and bytes. */
const PARSERS = { ...DEFAULT_PARSERS, timestampFromNanoseconds: (nanos: bigint): bigint => nanos };

export class ColumnReader {
  readonly #decoder: Decoder;
  /** Whether a row may have several values, and so end in the next page. */
  readonly #isRepeated: boolean;
  readonly #endBytes: number;
  #atBytes: number;
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
    const decoding = { parsers: PARSERS, compressors, utf8: false };
    this.#decoder = { type, codec, pathInSchema, element: path.at(-1)!.element, schemaPath: path, ...decoding };
    this.#isRepeated = getMaxRepetitionLevel(path) > 0;
    this.#atBytes = Number(dictionary !== undefined && dictionary > 0n && dictionary < data ? dictionary : data);
    this.#endBytes = this.#atBytes + Number(metadata.total_compressed_size);
  }

  /** Reads on until there is a row that is not taken. Returns how many there are; 0: the column has ended. */
  async fill(): Promise<number> {
    while (this.#taken >= this.#rows.length && this.#atBytes < this.#endBytes) await this.#readPage();
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
    const view = new DataView(await bytesAt(this.file, this.#atBytes, header.compressed_page_size));
    this.#atBytes += header.compressed_page_size;
    const page = { view, offset: 0 };
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
      const most = Math.min(sizeBytes, this.#endBytes - this.#atBytes);
      const reader = { view: new DataView(await bytesAt(this.file, this.#atBytes, most)), offset: 0 };
      try {
        const header = parquetHeader(reader);
        this.#atBytes += reader.offset;
        return header;
      } catch (error) {
        // It is longer than what was read.
        if (!(error instanceof RangeError) || most < sizeBytes || sizeBytes > HEADER_MAX_BYTES) throw error;
      }
    }
  }
}

const valuesIn = ({ data_page_header: first, data_page_header_v2: second }: Header): number =>
  (first ?? second)?.num_values ?? 0;
