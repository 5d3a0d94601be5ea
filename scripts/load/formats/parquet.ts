/** Reads `.parquet` page by page: memory holds one page of each column, regardless of the size of the row groups. */
import { type FileHandle, open } from 'node:fs/promises';
import { type FileMetaData, parquetMetadataAsync, type RowGroup } from 'hyparquet';
import { counted } from '../../terminal/line.js';
import { type Fields, type RawRow, rowFrom, type Source, type Unreadable, USUAL } from '../source.js';
import { bytesAt, ColumnReader } from './parquetColumn.js';
import { assembled, type Field, fieldsOf } from './parquetTypes.js';

/** Rows that are assembled at once. */
const PIECE_ROWS = 1_024;

/** `path`: a file, which is read from its end first. */
export function parquetSource(name: string, path: string): Source {
  let total: number | undefined;
  return {
    name,
    usual: USUAL,
    hasColumns: true,
    expected: () => total,
    total: () => total,
    async *rows(): AsyncGenerator<RawRow | Unreadable> {
      const file = await open(path);
      try {
        const metadata = await metadataOf(file, name);
        total = Number(metadata.num_rows);
        const fields = fieldsOf(metadata.schema, name);
        let before = 0;
        for (const group of metadata.row_groups) {
          yield* rowsOf(file, group, fields, { before, name });
          before += Number(group.num_rows);
        }
        if (before !== total)
          throw new Error(`${name} has ${counted(before, 'row')} where its end says ${total}: it is damaged`);
      } finally {
        await file.close();
      }
    },
  };
}

async function metadataOf(file: FileHandle, name: string): Promise<FileMetaData> {
  const { size: byteLength } = await file.stat();
  const slice = (from: number, end = byteLength): Promise<ArrayBuffer> => bytesAt(file, from, end - from);
  try {
    return await parquetMetadataAsync({ byteLength, slice }, { geoparquet: false });
  } catch (error) {
    throw new Error(`${name} is not a Parquet file: ${(error as Error).message}`);
  }
}

/** `before`: the rows of the groups before it. */
async function* rowsOf(
  file: FileHandle,
  group: RowGroup,
  fields: readonly Field[],
  { before, name }: { readonly before: number; readonly name: string },
): AsyncGenerator<RawRow | Unreadable> {
  const leaves = fields.flatMap((field) => field.leaves);
  if (group.columns.length !== leaves.length)
    throw new Error(`${name} has other columns than its end says: it is damaged`);
  const columns = group.columns.map(({ meta_data: metadata }, i) => {
    if (metadata === undefined) throw new Error(`${name} has an encrypted column`);
    return new ColumnReader(file, metadata, [...leaves[i]!.path]);
  });
  const count = Number(group.num_rows);
  for (let row = 0; row < count; ) {
    const most = Math.min(PIECE_ROWS, count - row, ...(await filled(columns, name)));
    if (most === 0) throw new Error(`${name} ends within row ${before + row + 1}`);
    const pieces = columns.map((column) => column.take(most));
    const values = fields.map((field) => assembled(field, pieces));
    for (let i = 0; i < most; i++) yield rowFrom(before + row + i + 1, () => rowAt(fields, values, i));
    row += most;
  }
}

async function filled(columns: readonly ColumnReader[], name: string): Promise<number[]> {
  const counts: number[] = [];
  try {
    for (const column of columns) counts.push(await column.fill());
  } catch (error) {
    throw new Error(`${name} cannot be read: ${(error as Error).message}`);
  }
  return counts;
}

function rowAt(fields: readonly Field[], values: readonly ArrayLike<unknown>[], at: number): Fields {
  return Object.fromEntries(fields.map(({ name, read }, i) => [name, read(values[i]![at])]));
}
