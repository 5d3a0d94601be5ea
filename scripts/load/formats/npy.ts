/** NumPy's `.npy`: a table of numbers, a row a vector. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
import { type RawRow, type Source, USUAL } from '../source.js';
import { ByteReader, type ByteSource } from './bytes.js';
import { NUMBER_KINDS, readerOf } from './numbers.js';

const MAGIC = '\x93NUMPY';
const VERSIONED_BYTES = 8;
/** Rows that are read at once. */
const PIECE_ROWS = 256;

interface Layout {
  readonly kind: string;
  readonly isLittle: boolean;
  readonly rows: number;
  readonly dimension: number;
}

export function npySource(name: string, source: ByteSource): Source {
  let total: number | undefined;
  return {
    name,
    usual: USUAL,
    expected: () => total,
    async *rows(): AsyncGenerator<RawRow> {
      const reader = new ByteReader(source);
      const layout = layoutOf(await headerText(reader, name), name);
      total = layout.rows;
      const read = readerOf(layout.kind, layout.isLittle);
      const rowBytes = layout.dimension * NUMBER_KINDS[layout.kind]!.sizeBytes;
      for (let row = 0; row < layout.rows; ) {
        const wanted = Math.min(PIECE_ROWS, layout.rows - row);
        const bytes = await reader.take(wanted * rowBytes);
        const whole = Math.floor(bytes.length / rowBytes);
        for (let i = 0; i < whole; i++, row++)
          yield { number: row + 1, fields: { vector: read(bytes, i * rowBytes, layout.dimension) } };
        if (whole < wanted) throw new Error(`${name} ends within row ${row + 1} of ${layout.rows}`);
      }
    },
  };
}

async function headerText(reader: ByteReader, name: string): Promise<string> {
  const begin = await reader.take(VERSIONED_BYTES);
  if (begin.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error(`${name} is no .npy file`);
  const isLong = begin[MAGIC.length]! > 1;
  const length = await reader.take(isLong ? 4 : 2);
  return (await reader.take(isLong ? length.readUInt32LE() : length.readUInt16LE())).toString('latin1');
}

/** Throws an Error of one line where the table is none of vectors. */
function layoutOf(header: string, name: string): Layout {
  const descr = /'descr':\s*'([<>|=])([a-z]\d+)'/.exec(header);
  const shape = /'shape':\s*\(([^)]*)\)/
    .exec(header)?.[1]
    ?.split(',')
    .map((item) => item.trim());
  const sizes = (shape ?? []).filter((item) => item !== '').map(Number);
  if (descr === null || NUMBER_KINDS[descr[2]!] === undefined)
    throw new Error(`${name} holds no plain numbers: save it as numpy.float32`);
  if (sizes.length !== 2 || !sizes.every(Number.isSafeInteger))
    throw new Error(`${name} has the shape (${sizes.join(', ')}): a row a vector is needed, such as (1000, 128)`);
  if (/'fortran_order':\s*True/.test(header))
    throw new Error(`${name} is stored by columns: save it with numpy.ascontiguousarray`);
  return { kind: descr[2]!, isLittle: descr[1] !== '>', rows: sizes[0]!, dimension: sizes[1]! };
}
