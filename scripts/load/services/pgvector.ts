/** Reads one state of a PostgreSQL table with a pgvector column through a cursor, page by page. */
import postgres from 'postgres';
import { messageOf } from '../../../shared/errors/errors.js';
import { assertAllRead, type RawRow, rowFrom, type Source, type Unreadable, USUAL } from '../source.js';
import { fieldsOf, readersOf } from './pgTypes.js';

const PAGE_ROWS = 1_000;
const CONNECT_SECS = 10;
const END_SECS = 1;

/** Settings under which the texts of values do not depend on the server, the database or the user. */
const FORMATS = {
  ...{ TimeZone: 'UTC', DateStyle: 'ISO', IntervalStyle: 'iso_8601', bytea_output: 'hex', extra_float_digits: '1' },
  lc_monetary: 'C',
};

/** `table`: its name, with or without its schema before a dot. */
export function pgvectorSource(url: string, table: string): Source {
  let total: number | undefined;
  const name = `the table ${table}`;
  return {
    name,
    usual: USUAL,
    hasColumns: true,
    expected: () => total,
    async *rows(signal): AsyncGenerator<RawRow | Unreadable> {
      const sql = postgres(url, { max: 1, connect_timeout: CONNECT_SECS, fetch_types: false, onnotice: () => {} });
      const end = (): Promise<void> => sql.end({ timeout: 0 });
      signal?.addEventListener('abort', end);
      let number = 0;
      try {
        await sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`;
        await sql`SELECT set_config(key, value, true) FROM json_each_text(${JSON.stringify(FORMATS)}::text::json)`;
        const [counted] = await sql`SELECT count(*) AS rows FROM ${sql(table)}`;
        total = Number(counted!.rows);
        const readers = await readersOf(sql, (await sql`SELECT * FROM ${sql(table)}`.describe()).columns);
        for await (const page of sql`SELECT * FROM ${sql(table)}`.raw().cursor(PAGE_ROWS))
          for (const values of page as unknown as (Uint8Array | null)[][])
            yield rowFrom(++number, () => fieldsOf(values, readers));
      } catch (error) {
        throw new Error(`${name} cannot be read: ${messageOf(error)}`);
      } finally {
        signal?.removeEventListener('abort', end);
        await sql.end({ timeout: END_SECS });
      }
      assertAllRead(name, total, number);
    },
  };
}
