import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Policy, parseJson, parsePolicy } from '../../verifier/index.js';
import { callersFolder } from '../terminal/commandLine.js';

/** The largest file, as large as the body of an insert. */
const JSON_BYTES_MAX = 64 * 1024 * 1024;

/** A path as the caller meant it. */
export const callersPath = (path: string): string => resolve(callersFolder(), path);

/** Reads JSON; `-` is standard input. Throws an Error of one line. */
export async function readJson(file: string): Promise<unknown> {
  const name = file === '-' ? 'standard input' : file;
  const source = file === '-' ? process.stdin : createReadStream(callersPath(file));
  const bytes = await opened(file, readAll(source, name));
  if (bytes.every((byte) => byte <= 0x20)) throw new Error(`${name} is empty`);
  return parseJson(bytes, name);
}

/** Reads a policy. Throws an Error of one line. */
export async function readPolicy(file: string): Promise<Policy> {
  return parsePolicy(await opened(file, readFile(callersPath(file), 'utf8')));
}

/** Throws an Error where it is too large. */
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

/** Resolves as `reading` does. Throws an Error of one line where the file cannot be read. */
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
