/** A table of aligned columns: numbers to the right, all else to the left, two spaces between. */

export type Cell = string | number;

export interface Column {
  readonly title: string;
  /** Decimals of its numbers; whole numbers where left out. */
  readonly decimals?: number;
}

/** The lines of the table, its titles first. `rows` hold a cell for each column. */
export function tableLines(columns: readonly Column[], rows: readonly (readonly Cell[])[]): string[] {
  const texts = rows.map((row) => row.map((cell, at) => text(cell, columns[at]!)));
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...texts.map((row) => row[at]!.length)));
  const toRight = columns.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === 'number'));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (toRight[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...texts.map(line)];
}

const text = (cell: Cell, { decimals = 0 }: Column): string =>
  typeof cell === 'string'
    ? cell
    : cell.toLocaleString('en-US', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
