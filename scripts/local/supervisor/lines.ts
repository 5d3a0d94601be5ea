import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Longest line; a longer one is passed on in pieces. */
const LONGEST_CHARS = 1 << 20;

/** Calls `onLine` for every line of the stream, without its line break, which the last line may lack. */
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
