/** `.parquet`, a group of rows at a time. */
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { type Fields, type RawRow, type Source, USUAL } from '../source.js';

/** Rows that are decoded at once: what they hold is in memory. */
const PIECE_ROWS = 32_768;

/** `path`: a file, which is read from its end first. */
export function parquetSource(name: string, path: string): Source {
  let total: number | undefined;
  return {
    name,
    usual: USUAL,
    expected: () => total,
    async *rows(): AsyncGenerator<RawRow> {
      const file = await asyncBufferFromFile(path);
      const metadata = await parquetMetadataAsync(file).catch((error: Error) => {
        throw new Error(`${name} is no Parquet file: ${error.message}`);
      });
      total = Number(metadata.num_rows);
      for (let from = 0; from < total; from += PIECE_ROWS) {
        const rowEnd = Math.min(total, from + PIECE_ROWS);
        const rows = await parquetReadObjects({
          file,
          metadata,
          compressors,
          rowStart: from,
          rowEnd,
          useOffsetIndex: true,
        });
        for (const [i, fields] of rows.entries()) yield { number: from + i + 1, fields: fields as Fields };
      }
    },
  };
}
