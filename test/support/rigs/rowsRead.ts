/** Reads all rows of a source of `npm run load`. */
import { type Fields, isUnreadable, type Source } from '../../../scripts/load/source.js';

/** Fields of each row, or the reason why it cannot be read. */
export async function readAll(source: Source): Promise<(Fields | string)[]> {
  const rows: (Fields | string)[] = [];
  for await (const row of source.rows()) rows.push(isUnreadable(row) ? row.fault : row.fields);
  return rows;
}

export const failureOf = (source: Source): Promise<string> =>
  readAll(source).then(
    (rows) => `none: ${rows.length} rows`,
    (error: Error) => error.message,
  );
