import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A line that goes on and on is passed on in pieces of this size. */
const LONGEST_CHARS = 1 << 20;

/** Calls `onLine` for every line of the stream, without its end; the last one also where its end is missing. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const parts = (rest + decoder.write(chunk)).split('\n');
    rest = parts.pop()!;
    for (const part of parts) onLine(part.endsWith('\r') ? part.slice(0, -1) : part);
    if (rest.length > LONGEST_CHARS) {
      onLine(rest);
      rest = '';
    }
  });
  stream.once('close', () => {
    if (rest !== '') onLine(rest);
    rest = '';
  });
}
