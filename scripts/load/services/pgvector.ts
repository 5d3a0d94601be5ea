/** A table of PostgreSQL with a column of pgvector, by a cursor: one state of the table, page by page. */
import postgres from 'postgres';
import { messageOf } from '../../../shared/errors/errors.js';
import { type Fields, type RawRow, type Source, USUAL } from '../source.js';

const PAGE_ROWS = 1_000;
const CONNECT_SECS = 10;

/** `table`: its name, with or without its schema before a dot. */
export function pgvectorSource(url: string, table: string): Source {
  let total: number | undefined;
  return {
    name: `the table ${table}`,
    usual: USUAL,
    expected: () => total,
    async *rows(): AsyncGenerator<RawRow> {
      const sql = postgres(url, { max: 1, connect_timeout: CONNECT_SECS, onnotice: () => {} });
      const name = sql(table);
      try {
        const [counted] = await sql`SELECT count(*) AS rows FROM ${name}`;
        total = Number(counted!.rows);
        let number = 0;
        // Text of a vector is read as well as any list of numbers.
        for await (const rows of sql`SELECT * FROM ${name}`.cursor(PAGE_ROWS))
          for (const fields of rows) yield { number: ++number, fields: fields as Fields };
      } catch (error) {
        throw new Error(`the table ${table} cannot be read: ${messageOf(error)}`);
      } finally {
        await sql.end({ timeout: 1 });
      }
    },
  };
}
