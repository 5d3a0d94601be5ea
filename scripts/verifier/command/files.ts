import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { parseJson } from '../json.js';

/** The largest thing that is read whole is the body of an insert. */
const JSON_BYTES_MAX = 64 * 1024 * 1024;

/** A path as the caller meant it: npm runs a script in the folder of the package, wherever it was called. */
export const callersPath = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);

/** `-`: standard input. Throws an Error of one line where it cannot be read or is not JSON. */
export async function readJson(file: string): Promise<unknown> {
  const name = file === '-' ? 'standard input' : file;
  const source = file === '-' ? process.stdin : createReadStream(callersPath(file));
  const bytes = await opened(file, readAll(source, name));
  if (bytes.every((byte) => byte <= 0x20)) throw new Error(`${name} is empty`);
  return parseJson(bytes, name);
}

/** Ends early where there is no end. */
async function readAll(source: AsyncIterable<Buffer>, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > JSON_BYTES_MAX) throw new Error(`${name} is too large for what can be checked here`);
  }
  return Buffer.concat(chunks);
}

/** What comes of reading a file, or an Error that says in one line why it cannot be read. */
export async function opened<Content>(file: string, reading: Promise<Content>): Promise<Content> {
  try {
    return await reading;
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        throw new Error(`there is no file ${file}`);
      case 'EISDIR':
        throw new Error(`${file} is a folder`);
      case 'EACCES':
        throw new Error(`${file} may not be read by this user`);
      default:
        throw error;
    }
  }
}
