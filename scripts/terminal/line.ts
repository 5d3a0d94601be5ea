/** The one layout of everything a person reads: a mark, a name in a column of its own, and what is said about it. */

const NAME_CHARS = 14;

/** done: a step ended; failed: it did not; warning: look at this; plain: anything else. */
export type Mark = 'done' | 'failed' | 'warning' | 'plain';

const SIGNS: Readonly<Record<Mark, string>> = { done: '✔', failed: '✘', warning: '!', plain: ' ' };

export const formatLine = (mark: Mark, name: string, text: string): string =>
  `${SIGNS[mark]} ${name.padEnd(NAME_CHARS - 1)} ${text}`;

/** Back to the begin of the terminal's line, which is empty then. */
export const CLEAR_LINE = '\r\x1b[2K';
/** Whether something that draws itself again stands on the terminal's last line. */
let isLastLineTaken = false;

/** What draws itself on the terminal's last line says so, so that what is said meanwhile takes its place and it moves below. */
export const takeLastLine = (taken: boolean): void => {
  isLastLineTaken = taken;
};

/** Prints to standard error, so that what a command answers stands alone on standard output. */
export const say = (mark: Mark, name: string, text: string): void => {
  process.stderr.write(`${isLastLineTaken ? CLEAR_LINE : ''}${formatLine(mark, name, text)}\n`);
};

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** 1234567 → `1,234,567` */
export const grouped = (value: number): string => value.toLocaleString('en-US');
