/** Tables of aligned columns. */

export type Cell = string | number;

export interface Column {
  readonly title: string;
  /** Decimals of its numbers; by default 0. */
  readonly decimals?: number;
  /** The least width. */
  readonly chars?: number;
  /** Default: true if all its cells are numbers. */
  readonly toRight?: boolean;
}

/** The lines of a table, its titles first. Each row has a cell for each column. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly Cell[])[], gap = '  '): string[] {
  const texts = rows.map((row) => row.map((cell, at) => text(cell, columns[at]!)));
  const aligned = columns.map(({ title, chars = 0, toRight }, at) => ({
    chars: Math.max(title.length, chars, ...texts.map((row) => row[at]!.length)),
    toRight: toRight ?? (rows.length > 0 && rows.every((row) => typeof row[at] === 'number')),
  }));
  const line = (cells: readonly string[]): string =>
    aligned
      .map(({ chars, toRight }, at) => (toRight ? cells[at]!.padStart(chars) : cells[at]!.padEnd(chars)))
      .join(gap)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...texts.map(line)];
}

/** Characters that could move the cursor or colour the terminal: a cell may have a client's text. */
const CONTROLS = /\p{C}/gu;

const text = (cell: Cell, { decimals = 0 }: Column): string =>
  typeof cell === 'string'
    ? cell.replaceAll(CONTROLS, (sign) => `\\u{${sign.codePointAt(0)!.toString(16)}}`)
    : cell.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
