/** Sources made of others. */
import { isUnreadable, type RawRow, type Source, type Unreadable } from './source.js';

/** The rows of one source with the fields of another: the first of both, the second of both, and so on. */
export function beside(source: Source, other: Source): Source {
  return {
    ...source,
    async *rows(): AsyncGenerator<RawRow | Unreadable> {
      const others = other.rows()[Symbol.asyncIterator]();
      for await (const row of source.rows()) {
        const { value, done } = await others.next();
        if (done === true) throw new Error(`${other.name} ends before row ${row.number} of ${source.name}`);
        if (isUnreadable(row)) yield row;
        else if (isUnreadable(value)) yield { number: row.number, fault: `in ${other.name}: ${value.fault}` };
        else yield { number: row.number, fields: { ...value.fields, ...row.fields } };
      }
      if ((await others.next()).done !== true) throw new Error(`${other.name} has more rows than ${source.name}`);
    },
  };
}

/** The first row that can be read, and a source of all rows. Throws an Error of one line where there is none. */
export async function withFirst(source: Source): Promise<{ readonly first: RawRow; readonly source: Source }> {
  const rows = source.rows()[Symbol.asyncIterator]();
  const seen: (RawRow | Unreadable)[] = [];
  for (;;) {
    const { value, done } = await rows.next();
    if (done === true) throw new Error(`${source.name} has no row that can be read`);
    seen.push(value);
    if (isUnreadable(value)) continue;
    const next = async (): Promise<IteratorResult<RawRow | Unreadable>> => {
      const before = seen.shift();
      return before === undefined ? rows.next() : { value: before, done: false };
    };
    const end = async (): Promise<IteratorResult<never>> => {
      await rows.return?.();
      return { value: undefined, done: true };
    };
    // Without a generator, which would hold every row up three times.
    const all = { [Symbol.asyncIterator]: () => ({ next, return: end }) };
    return { first: value, source: { ...source, rows: () => all } };
  }
}
