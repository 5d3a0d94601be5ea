/** The layout of all output for a person: a sign, a name in a column, and a text. */

const NAME_CHARS = 14;

/** `done`: a step has ended; `failed`: it has not; `warning`: look at this; `plain`: anything else. */
export type Sign = 'done' | 'failed' | 'warning' | 'plain';

const SIGNS: Readonly<Record<Sign, string>> = { done: '✔', failed: '✘', warning: '!', plain: ' ' };

export const formatLine = (sign: Sign, name: string, text: string): string =>
  `${SIGNS[sign]} ${name.padEnd(NAME_CHARS - 1)} ${text}`;

/** Control characters, which would write over other text of a terminal. */
const CONTROL = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** Replaces the control characters of a text from elsewhere. */
export const printable = (text: string): string => text.replace(CONTROL, '\ufffd');

/** Clears the terminal's line. */
export const CLEAR_LINE = '\r\x1b[2K';
/** Whether the terminal's last line has a text that is redrawn, such as a progress bar. */
let isLastLineTaken = false;

/** To be called by code that redraws the terminal's last line: other lines are then printed above it. */
export const takeLastLine = (taken: boolean): void => {
  isLastLineTaken = taken;
};

/** Prints to standard error: standard output is only for the answer of a command. */
export const say = (sign: Sign, name: string, text: string): void => {
  process.stderr.write(`${isLastLineTaken ? CLEAR_LINE : ''}${formatLine(sign, name, text)}\n`);
};

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** 1234567 → `1,234,567` */
export const grouped = (value: number): string => value.toLocaleString('en-US');

/** `1 event`, `2,000 events` */
export const counted = (count: bigint | number, one: string, many = `${one}s`): string =>
  `${grouped(Number(count))} ${Number(count) === 1 ? one : many}`;
