/** `docstore.json` of LangChain.js: `[["0", {document}], …]`, cut into its documents, each of which is parsed by itself. */

const [QUOTE, ESCAPE, LIST, LIST_END, OBJECT, OBJECT_END, COMMA] = Buffer.from('"\\[]{},');
const SPACES = Buffer.from(' \t\r\n');
const HEAD = /^\[\s*"(\d{1,20})"\s*,/;
/** The most bytes before the document of an entry. */
const HEAD_BYTES_MAX = 64;

/** The JSON of each document by label. Throws an Error of one line. */
export function documentsIn(bytes: Buffer, name: string): Map<number, Buffer> {
  const documents = new Map<number, Buffer>();
  for (const entry of entriesIn(bytes, name)) {
    const head = HEAD.exec(entry.toString('latin1', 0, HEAD_BYTES_MAX));
    if (head === null) throw new Error(`entry ${documents.size + 1} of ${name} has no label`);
    const label = Number(head[1]);
    if (documents.has(label)) throw new Error(`${name} has two documents of label ${label}`);
    documents.set(label, entry.subarray(head[0].length, -1));
  }
  return documents;
}

/** Cuts the outer list into the inner lists. Their content is not checked. */
function* entriesIn(bytes: Buffer, name: string): Generator<Buffer> {
  let depth = 0;
  let begin = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE && depth > 1) at = quotedEnd(bytes, at);
    else if (byte === LIST || (byte === OBJECT && depth > 0)) {
      depth += 1;
      if (depth === 2) begin = at;
    } else if (byte === LIST_END || byte === OBJECT_END) {
      depth -= 1;
      if (depth === 1) yield bytes.subarray(begin, at + 1);
      if (depth > 0) continue;
      if (bytes.subarray(at + 1).every(isSpace)) return;
      break;
    } else if (depth < 2 && !isSpace(byte) && !(byte === COMMA && depth === 1)) break;
  }
  throw new Error(`${name} is cut short, or is not a list of documents`);
}

const isSpace = (byte: number): boolean => SPACES.includes(byte);

/** The place of the closing quote. */
function quotedEnd(bytes: Buffer, open: number): number {
  let at = open + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === ESCAPE ? 2 : 1;
  return at;
}
