/** `.jsonl`: one object of JSON on each line. `.csv`: a line of titles, then one row on each line. */
import { pipeline, type Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { assertDifferentTitles, rowFrom, type Source } from '../source.js';
import { textOf } from '../utf8.js';
import { type ByteSource, streamOf } from './bytes.js';
import { guessedSource } from './guess.js';
import { fieldsIn } from './jsonValues.js';
import { piecesWithoutMark, withoutMark } from './marks.js';

export function jsonlSource(name: string, source: ByteSource): Source {
  return guessedSource(name, source, async function* (guess, signal) {
    let number = 0;
    for await (const line of linesOf(streamOf(source, signal))) {
      guess.readBytes += line.length + 1;
      number += 1;
      const json = number === 1 ? withoutMark(line, name) : line;
      if (number === 1 && BRACKET.test(json.toString('latin1')))
        throw new Error(`${name} has rows of several lines: --format json reads them`);
      if (!isBlank(json)) yield rowFrom(number, () => fieldsIn(json, 'the line'));
    }
  });
}

/** The first line of JSON that is written over several. */
const BRACKET = /^\s*[[{]\s*$/;

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** A line of white space is skipped. */
const isBlank = (line: Buffer): boolean => line.every((byte) => byte <= SPACE);

/**
 * Lines that end with LF, CR LF or CR. They are found in bytes: Unicode's separators of lines and paragraphs are text here, but
 * end lines in some versions of Node.
 */
async function* linesOf(stream: Readable): AsyncGenerator<Buffer> {
  const begun: Buffer[] = [];
  let isAfterCr = false;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (const at of endsIn(piece)) {
      const isSecond = isAfterCr && at === from && piece[at] === LF && begun.length === 0;
      isAfterCr = piece[at] === CR;
      const line = piece.subarray(from, at);
      from = at + 1;
      if (isSecond) continue;
      yield begun.length === 0 ? line : Buffer.concat([...begun.splice(0), line]);
    }
    if (from < piece.length) {
      isAfterCr = false;
      begun.push(piece.subarray(from));
    }
  }
  if (begun.length > 0) yield Buffer.concat(begun);
}

/** The places of all bytes that end a line. */
function* endsIn(piece: Buffer): Generator<number> {
  let lf = piece.indexOf(LF);
  let cr = piece.indexOf(CR);
  while (lf >= 0 || cr >= 0) {
    if (cr < 0 || (lf >= 0 && lf < cr)) {
      yield lf;
      lf = piece.indexOf(LF, lf + 1);
    } else {
      yield cr;
      cr = piece.indexOf(CR, cr + 1);
    }
  }
}

/** Line ends, which may differ within a file: titles written by hand above rows that a program wrote. */
const LINE_ENDS = ['\r\n', '\n', '\r'];
/** Each byte becomes one character, so that a field can be read as UTF-8 by itself. */
const BYTEWISE = 'latin1';

/** Titles that an error shows. */
const SHOWN_TITLES = 3;

/** Other characters that separate columns. */
const OTHER_DELIMITERS = [';', '\t', '|'];

/** Throws an Error of one line where titles that were read by commas look separated by another character. */
function assertSeparated(titles: readonly string[], name: string): void {
  const found = OTHER_DELIMITERS.find((other) => titles.join('').split(other).length > titles.length);
  if (found === undefined) return;
  const [shown, option] = found === '\t' ? ['tabs', 'tab'] : [JSON.stringify(found), `'${found}'`];
  const columns = titles.length === 1 ? 'one column' : `${titles.length} columns`;
  throw new Error(
    `${name} has ${columns} if commas separate them, and ${shown} in its titles: give --delimiter ${option}, or --delimiter , if the titles are right`,
  );
}

/** `delimiter`: between columns. Undefined: commas, unless the titles look otherwise. */
export function csvSource(name: string, source: ByteSource, delimiter?: string): Source {
  const guessed = guessedSource(name, source, async function* (guess, signal) {
    // A quoted field may contain lines. A row that is cut short therefore swallows the rest of the file, and ends the load.
    const options = { encoding: BYTEWISE, record_delimiter: LINE_ENDS, relax_column_count: true } as const;
    let isFirst = true;
    const parser = parse({
      ...options,
      delimiter: delimiter ?? ',',
      // Check the first line before other rows are parsed: with another delimiter they may not be valid CSV.
      on_record: (values: string[]) => {
        if (isFirst && delimiter === undefined) assertSeparated(values, name);
        isFirst &&= isEmptyLine(values);
        return values;
      },
    });
    async function* counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of piecesWithoutMark(pieces, name)) {
        guess.readBytes += piece.length;
        yield piece;
      }
    }
    // The iteration below throws errors, and ends the input when it is left.
    pipeline(streamOf(source, signal), counted, parser, () => {});
    let titles: readonly string[] | undefined;
    let number = 0;
    try {
      for await (const values of parser as AsyncIterable<string[]>) {
        // Below a single title an empty line is an empty field, as PostgreSQL and SQLite write it.
        if (titles?.length !== 1 && isEmptyLine(values)) continue;
        if (titles === undefined) {
          titles = values.map((title, i) => fieldText(title, `title ${i + 1}`));
          assertDifferentTitles(titles, name);
          continue;
        }
        const named = titles;
        if (values.length !== named.length)
          throw new Error(
            `${name} is not valid CSV: row ${number + 1} has ${values.length} fields, and there are ${named.length} titles`,
          );
        yield rowFrom(++number, () =>
          Object.fromEntries(values.map((value, i) => [named[i]!, fieldText(value, named[i]!)])),
        );
      }
      if (number === 0 && titles !== undefined) throw onlyTitles(name, titles);
    } catch (error) {
      throw error instanceof CsvError ? new Error(`${name} is not valid CSV: ${error.message}`) : error;
    }
  });
  return { ...guessed, hasColumns: true };
}

/** A file of one line has no rows, or its row lacks titles. */
function onlyTitles(name: string, titles: readonly string[]): Error {
  const shown = titles.slice(0, SHOWN_TITLES).map((title) => JSON.stringify(title));
  const all = titles.length > SHOWN_TITLES ? [...shown, '…'] : shown;
  return new Error(
    `${name} has one line, which is read as the titles of its columns (${all.join(', ')}): add rows below it, or titles above it if it is a row`,
  );
}

const isEmptyLine = (values: readonly string[]): boolean => values.length === 1 && values[0] === '';

const NOT_ASCII = /[^\0-\x7f]/;

/** A field that was read bytewise. Throws RowFault. */
const fieldText = (value: string, title: string): string =>
  NOT_ASCII.test(value) ? textOf(Buffer.from(value, BYTEWISE), title) : value;
