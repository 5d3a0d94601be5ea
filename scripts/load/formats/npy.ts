/** NumPy's `.npy`: a table of numbers, whose rows are vectors. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
import { DIMENSION_MAX } from '../../../shared/limits.js';
import { counted } from '../../terminal/line.js';
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
    hasColumns: true,
    expected: () => total,
    total: () => total,
    async *rows(signal): AsyncGenerator<RawRow> {
      const reader = new ByteReader(source, signal);
      try {
        const layout = layoutOf(await headerText(reader, name), name);
        const rowBytes = layout.dimension * NUMBER_KINDS[layout.kind]!.sizeBytes;
        const endBytes = reader.readBytes + layout.rows * rowBytes;
        if ((source.sizeBytes ?? 0) > endBytes) throw moreThanOne(name, layout);
        total = layout.rows;
        yield* rowsOf(reader, layout, name);
        if ((await reader.take(1)).length > 0) throw moreThanOne(name, layout);
      } finally {
        reader.close();
      }
    },
  };
}

async function* rowsOf(reader: ByteReader, layout: Layout, name: string): AsyncGenerator<RawRow> {
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
}

const moreThanOne = (name: string, { rows }: Layout): Error =>
  new Error(`${name} continues after the ${counted(rows, 'row')} of its array: save one array a file`);

async function headerText(reader: ByteReader, name: string): Promise<string> {
  const begin = await reader.take(VERSIONED_BYTES);
  if (begin.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new Error(`${name} is not an .npy file`);
  const sizeBytes = begin[MAGIC.length]! > 1 ? 4 : 2;
  const size = await reader.take(sizeBytes);
  if (size.length < sizeBytes) throw new Error(`${name} ends within its head`);
  return (await reader.take(size.readUIntLE(0, sizeBytes))).toString('latin1');
}

/** Throws an Error of one line if the table does not hold vectors. */
function layoutOf(header: string, name: string): Layout {
  const descr = /'descr':\s*'([<>|=])([a-z]\d+)'/.exec(header);
  const shape = /'shape':\s*\(([^)]*)\)/
    .exec(header)?.[1]
    ?.split(',')
    // Python 2 writes 3L.
    .map((item) => item.trim().replace(/L$/, ''));
  const sizes = (shape ?? []).filter((item) => item !== '').map(Number);
  if (descr === null || NUMBER_KINDS[descr[2]!] === undefined)
    throw new Error(`${name} does not hold plain numbers: save it as numpy.float32`);
  const [, dimension = 0] = sizes;
  if (sizes.length !== 2 || !sizes.every(Number.isSafeInteger) || dimension < 1 || dimension > DIMENSION_MAX)
    throw new Error(
      `${name} has the shape (${sizes.join(', ')}): a row of 1 to ${DIMENSION_MAX} components for each vector is needed, such as (1000, 128)`,
    );
  if (/'fortran_order':\s*True/.test(header))
    throw new Error(`${name} is stored by columns: save it with numpy.ascontiguousarray`);
  return { kind: descr[2]!, isLittle: descr[1] !== '>', rows: sizes[0]!, dimension };
}
