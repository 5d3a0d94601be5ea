/** The output of the demo: chapters, paragraphs, facts and pictures, on standard output, at most 80 columns wide. */

import { systemClock } from '../../shared/clock.js';
import { poll } from '../../shared/scheduling/retry.js';
import { formatLine, type Sign } from '../terminal/line.js';

const COLUMNS = 80;
const INDENT = '  ';

const bold = (text: string): string =>
  process.stdout.isTTY && process.env.NO_COLOR === undefined ? `\x1b[1m${text}\x1b[22m` : text;

const print = (lines: readonly string[]): void => {
  process.stdout.write(`${lines.join('\n')}\n`);
};

export function chapter(number: number, title: string): void {
  print([bold(`── ${number}. ${title} `.padEnd(COLUMNS, '─')), '']);
}

/** Prints a wrapped paragraph and an empty line. */
export const tell = (text: string): void => print([...wrap(text, COLUMNS - INDENT.length).map(indented), '']);

/** Prints the lines, without empty ones at either end, and an empty line. */
export function show(lines: readonly string[]): void {
  const isText = (line: string): boolean => line !== '';
  print([...lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1).map(indented), '']);
}

/** Prints a fact in the layout of all commands. */
export function fact(sign: Sign, name: string, text: string): void {
  const [first = '', ...more] = wrap(text, COLUMNS - formatLine(sign, name, '').length);
  print([formatLine(sign, name, first), ...more.map((line) => formatLine('plain', '', line))]);
}

export const gap = (): void => print(['']);

/** `0.84 ms`, `12 ms`, `1.3 s` */
export function durationText(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(1)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}

const indented = (line: string): string => (line === '' ? '' : INDENT + line);

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

export function expect(holds: boolean, complaint: string): asserts holds {
  if (!holds) throw new Error(complaint);
}

const LOOK_MS = 10;

/** The first result of `look` that is not undefined. Throws an Error with the text `missing` after `withinMs`. */
export async function until<T>(
  missing: string,
  withinMs: number,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const found = await poll(look, { everyMs: LOOK_MS, withinMs, clock: systemClock });
  expect(found !== undefined, `${missing} within ${withinMs / 1000} s`);
  return found;
}
