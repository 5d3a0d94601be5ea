/** `.jsonl`: an object of JSON a line; `.csv`: a line of titles, and a row a line. */
import { pipeline, type Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { jsonIn } from '../json.js';
import {
  assertDifferentTitles,
  type Fields,
  type RawRow,
  RowFault,
  rowFrom,
  type Source,
  type Unreadable,
  USUAL,
} from '../source.js';
import { textOf } from '../utf8.js';
import { type ByteSource, streamOf } from './bytes.js';

/** Guesses the number of rows from the part of the bytes that is read. */
class Guess {
  readBytes = 0;

  constructor(private readonly sizeBytes: number | undefined) {}

  rows(read: number): number | undefined {
    if (this.sizeBytes === undefined || this.readBytes === 0) return undefined;
    return Math.max(read, Math.round((read * this.sizeBytes) / this.readBytes));
  }
}

export function jsonlSource(name: string, source: ByteSource): Source {
  const guess = new Guess(source.sizeBytes);
  return {
    name,
    usual: USUAL,
    expected: (read) => guess.rows(read),
    async *rows(signal): AsyncGenerator<RawRow | Unreadable> {
      let number = 0;
      for await (const line of linesOf(streamOf(source, signal))) {
        guess.readBytes += line.length + 1;
        number += 1;
        const json = number === 1 ? withoutMark(line, name) : line;
        if (!isBlank(json)) yield rowFrom(number, () => fieldsIn(json));
      }
    },
  };
}

function fieldsIn(line: Buffer): Fields {
  const fields = jsonIn(line, 'the line', { isExact: false });
  if (Array.isArray(fields)) return { vector: fields };
  if (typeof fields === 'object' && fields !== null) return fields as Fields;
  throw new RowFault('the line is no object of JSON');
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** A line of white space is skipped. */
const isBlank = (line: Buffer): boolean => line.every((byte) => byte <= SPACE);

/**
 * Lines that end with LF, CR LF or CR. Found in bytes: the separators of lines and paragraphs of Unicode are text, and some
 * versions of Node end lines there.
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

const MARK_BYTES = 3;

/** The bytes without a byte order mark. Throws an Error of one line where it is one of UTF-16. */
function withoutMark(bytes: Buffer, name: string): Buffer {
  const begin = bytes.toString('hex', 0, MARK_BYTES);
  if (begin.startsWith('fffe') || begin.startsWith('feff')) throw new Error(`${name} is UTF-16: convert it to UTF-8`);
  return begin === 'efbbbf' ? bytes.subarray(MARK_BYTES) : bytes;
}

/** Mixed ones too: titles written by hand above rows that a program wrote. */
const LINE_ENDS = ['\r\n', '\n', '\r'];
/** Each byte becomes one character, so that a field can be read as UTF-8 by itself. */
const BYTEWISE = 'latin1';

export function csvSource(name: string, source: ByteSource): Source {
  const guess = new Guess(source.sizeBytes);
  return {
    name,
    usual: USUAL,
    expected: (read) => guess.rows(read),
    async *rows(signal): AsyncGenerator<RawRow | Unreadable> {
      // A quoted field may hold lines: a row that is cut short takes the rest of the file with it, so it ends the load.
      const parser = parse({ encoding: BYTEWISE, record_delimiter: LINE_ENDS, skip_empty_lines: true });
      async function* counted(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
        for await (const piece of withoutMarkAhead(pieces, name)) {
          guess.readBytes += piece.length;
          yield piece;
        }
      }
      // The iteration below throws what fails, and ends the input when it is left.
      pipeline(streamOf(source, signal), counted, parser, () => {});
      let titles: readonly string[] | undefined;
      let number = 0;
      try {
        for await (const values of parser as AsyncIterable<string[]>) {
          if (titles === undefined) {
            titles = values.map((title, i) => fieldText(title, `title ${i + 1}`));
            assertDifferentTitles(titles, name);
            continue;
          }
          const named = titles;
          yield rowFrom(++number, () =>
            Object.fromEntries(values.map((value, i) => [named[i]!, fieldText(value, named[i]!)])),
          );
        }
      } catch (error) {
        throw error instanceof CsvError ? new Error(`${name} is no proper CSV: ${error.message}`) : error;
      }
    },
  };
}

const NOT_ASCII = /[^\0-\x7f]/;

/** A field that was read bytewise. Throws RowFault. */
const fieldText = (value: string, title: string): string =>
  NOT_ASCII.test(value) ? textOf(Buffer.from(value, BYTEWISE), title) : value;

async function* withoutMarkAhead(pieces: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let begin: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (begin === undefined) {
      yield piece;
      continue;
    }
    begin = Buffer.concat([begin, piece]);
    if (begin.length < MARK_BYTES) continue;
    yield withoutMark(begin, name);
    begin = undefined;
  }
  if (begin !== undefined) yield begin;
}
