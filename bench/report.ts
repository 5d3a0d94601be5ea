/** The figures, for people and for programs. */
import { cpus, loadavg } from 'node:os';
import { type Cell, type Column, tableLines } from '../scripts/terminal/table.js';
import type { Row } from './row.js';

const COLUMNS: readonly Column[] = [{ title: 'part' }, { title: 'what' }, { title: 'figure' }, { title: 'unit' }];

/** Digits that are shown; a measured value has more. */
const SIGNIFICANT_DIGITS = 4;

export interface Report {
  readonly machine: { readonly node: string; readonly cpu: string; readonly cores: number };
  /** Load of the last minute, at the end. If it is well above the benchmark's own, the machine had other work. */
  readonly loadAverage: number;
  readonly rows: readonly Row[];
}

export function makeReport(rows: readonly Row[]): Report {
  const cores = cpus();
  return {
    machine: { node: process.version, cpu: cores[0]?.model.trim() ?? 'unknown', cores: cores.length },
    loadAverage: loadavg()[0] as number,
    rows,
  };
}

export function reportLines({ machine, loadAverage, rows }: Report): string[] {
  const cells = rows.map(({ part, name, value, unit }): Cell[] => [part, name, shown(value), unit]);
  const about = `Node ${machine.node}, ${machine.cores} × ${machine.cpu}, load average ${loadAverage.toFixed(1)}`;
  return [...tableLines(COLUMNS, cells), '', about];
}

/** The text of a value; one column has values of very different sizes. */
const shown = (value: number): string =>
  value.toLocaleString('en-US', {
    maximumSignificantDigits: SIGNIFICANT_DIGITS,
    useGrouping: true,
  });
