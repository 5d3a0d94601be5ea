/** `.jsonl`: an object of JSON a line; `.csv`: a line of titles, and a row a line. */
import { createInterface } from 'node:readline';
import { parse } from 'csv-parse';
import { type RawRow, type Source, type Unreadable, USUAL } from '../source.js';
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
    async *rows(): AsyncGenerator<RawRow | Unreadable> {
      let number = 0;
      for await (const line of createInterface({ input: streamOf(source), crlfDelay: Number.POSITIVE_INFINITY })) {
        guess.readBytes += Buffer.byteLength(line) + 1;
        number += 1;
        // A byte order mark, and lines that only look empty, are no rows.
        const text = line.replace(/^\uFEFF/, '');
        if (text.trim() !== '') yield jsonRow(number, text);
      }
    },
  };
}

function jsonRow(number: number, text: string): RawRow | Unreadable {
  try {
    const fields: unknown = JSON.parse(text);
    if (Array.isArray(fields)) return { number, fields: { vector: fields } };
    if (typeof fields === 'object' && fields !== null) return { number, fields: { ...fields } };
    return { number, fault: 'the line is no object of JSON' };
  } catch (error) {
    return { number, fault: `the line is no JSON: ${(error as Error).message}` };
  }
}

export function csvSource(name: string, source: ByteSource): Source {
  const guess = new Guess(source.sizeBytes);
  return {
    name,
    usual: USUAL,
    expected: (read) => guess.rows(read),
    async *rows(): AsyncGenerator<RawRow> {
      // A quoted field may hold lines: a row that is cut short takes the rest of the file with it, so it ends the load.
      const parser = parse({ bom: true, columns: true, skip_empty_lines: true });
      const input = streamOf(source);
      input.on('error', (error) => parser.destroy(error));
      input.on('data', (piece: Buffer) => {
        guess.readBytes += piece.length;
      });
      input.pipe(parser);
      let number = 0;
      try {
        for await (const fields of parser) yield { number: ++number, fields: fields as Record<string, string> };
      } catch (error) {
        throw new Error(`${name} is no proper CSV: ${(error as Error).message}`);
      }
    },
  };
}
