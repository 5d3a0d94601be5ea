/** Byte order marks, with which files of text may begin. */

const MARK_BYTES = 3;

/**
 * The bytes without a byte order mark. Throws a one-line Error if the file begins with the mark of UTF-16, which that of UTF-32 can
 * begin with.
 */
export function withoutMark(bytes: Buffer, name: string): Buffer {
  const begin = bytes.toString('hex', 0, MARK_BYTES);
  if (begin.startsWith('fffe') || begin.startsWith('feff'))
    throw new Error(`${name} is UTF-16 or UTF-32: convert it to UTF-8`);
  return begin === 'efbbbf' ? bytes.subarray(MARK_BYTES) : bytes;
}

/** Yields the pieces of a file without its byte order mark. Throws like `withoutMark`. */
export async function* piecesWithoutMark(pieces: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
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
