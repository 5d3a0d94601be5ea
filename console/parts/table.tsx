// biome-ignore-all lint/a11y/noRedundantRoles: a row that is displayed as lines of text loses its role otherwise.
/** A table. On a narrow screen each row becomes lines of text, in which the titles of the columns precede the values. */
import type { ComponentChildren, Key } from 'preact';

interface Row {
  readonly key: Key;
  /** One for each column; the first names the row. */
  readonly cells: readonly ComponentChildren[];
  readonly isMarked?: boolean;
}

interface Props {
  readonly label: string;
  readonly titles: readonly string[];
  /** Titles of columns that explain themselves: a narrow screen leaves these titles out. */
  readonly plain?: readonly string[];
  readonly rows: readonly Row[];
}

export const Table = ({ label, titles, plain = [], rows }: Props) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reached by the keyboard.
  <section class="wide" aria-label={label} tabIndex={0}>
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          {titles.map((title) => (
            <th key={title} role="columnheader" scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(({ key, cells: [name, ...cells], isMarked = false }) => (
          <tr key={key} role="row" class={isMarked ? 'differs' : ''}>
            <th role="rowheader" scope="row">
              {name}
            </th>
            {cells.map((cell, i) => {
              const title = titles[i + 1]!;
              return (
                <td key={title} role="cell" data-title={plain.includes(title) ? undefined : title}>
                  {cell}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
