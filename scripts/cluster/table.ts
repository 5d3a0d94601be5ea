/** Columns that stay where they are while their values change: each at least as wide as it was planned. */

export interface ViewColumn {
  readonly title: string;
  /** Least width of its values; the title counts too. */
  readonly chars: number;
  /** Numbers stand to the right. */
  readonly toRight?: boolean;
}

/** The titles, then a line for each of `rows`, which hold a cell for each column. */
export function columnLines(columns: readonly ViewColumn[], rows: readonly (readonly string[])[]): string[] {
  const widths = columns.map(({ title, chars }, at) =>
    Math.max(title.length, chars, ...rows.map((row) => row[at]!.length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (columns[at]!.toRight ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join(' ')
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...rows.map(line)];
}
