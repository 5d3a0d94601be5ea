import { type RawRow, type Source, type Unreadable, USUAL } from '../source.js';
import type { ByteSource } from './bytes.js';

/** Guesses the number of rows from the part of the bytes that is read. */
export class Guess {
  readBytes = 0;

  constructor(private readonly sizeBytes: number | undefined) {}

  rows(read: number): number | undefined {
    if (this.sizeBytes === undefined || this.readBytes === 0) return undefined;
    return Math.max(read, Math.round((read * this.sizeBytes) / this.readBytes));
  }
}

/** A source of rows whose number is guessed. `rows` adds the bytes that it has read to the guess. */
export function guessedSource(
  name: string,
  { sizeBytes }: ByteSource,
  rows: (guess: Guess, signal: AbortSignal | undefined) => AsyncIterable<RawRow | Unreadable>,
): Source {
  const guess = new Guess(sizeBytes);
  return { name, usual: USUAL, expected: (read) => guess.rows(read), rows: (signal) => rows(guess, signal) };
}
