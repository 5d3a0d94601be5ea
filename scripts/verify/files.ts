import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Policy, parseJson, parsePolicy } from '../../verifier/index.js';
import { callersFolder, commandText } from '../terminal/commandLine.js';
import { assertKind, assertNoOther, assertNoOtherText, type FileKind } from './kinds.js';

/** The most bytes of a file: as many as the body of an insert may have. */
const JSON_BYTES_MAX = 64 * 1024 * 1024;

/** A path, resolved in the folder of the caller. */
export const callersPath = (path: string): string => resolve(callersFolder(), path);

/** Reads JSON of that kind; `-` is standard input. Throws an Error of one line, which names the kind of any other file. */
export async function readJson(kind: FileKind, file: string): Promise<unknown> {
  const name = file === '-' ? 'standard input' : file;
  const bytes = await readBytes(file, name, (head) => assertNoOtherText(kind, head, file, name));
  if (bytes.every((byte) => byte <= 0x20)) throw new Error(`${name} is empty`);
  const json = parseJson(bytes, name);
  assertKind(kind, json, file, name);
  return json;
}

/** Reads a policy. Throws an Error of one line. */
export async function readPolicy(file: string): Promise<Policy> {
  const bytes = await opened(file, readFile(callersPath(file)));
  assertNoOtherText('policy', bytes, file, file);
  if (isJson(bytes)) assertNoOther('policy', parseJson(bytes, file), file, file);
  return parsePolicy(bytes.toString('utf8'));
}

/** Throws an Error of one line if the file is of another kind than `kind`. */
export async function assertNoOtherFile(kind: 'export' | 'folder' | 'access', file: string): Promise<void> {
  const found = await stat(callersPath(file)).catch(() => undefined);
  if (found?.isFile() !== true) return;
  const head = await opened(file, readHead(file));
  assertNoOtherText(kind, head, file, file);
  if (isJson(head)) assertNoOther(kind, parseJson(await readBytes(file, file), file), file, file);
  if (kind === 'folder') throw new Error(`${file} is a file, not a data folder`);
}

const OBJECT = 0x7b;
/** A zero is in the length that begins a copy of an access log, and in no JSON. */
const isJson = (bytes: Uint8Array): boolean =>
  bytes.find((byte) => byte > 0x20) === OBJECT && !bytes.subarray(0, 4).includes(0);

async function readHead(file: string): Promise<Buffer> {
  for await (const chunk of createReadStream(callersPath(file)) as AsyncIterable<Buffer>) return chunk;
  return Buffer.alloc(0);
}

/** `look` gets the first bytes, before a file that is too large is refused. */
async function readBytes(file: string, name: string, look: (head: Buffer) => void = () => {}): Promise<Buffer> {
  const source = file === '-' ? process.stdin : createReadStream(callersPath(file));
  return opened(file, readAll(source, name, look));
}

/** Throws an Error if the source is too large. */
async function readAll(source: AsyncIterable<Buffer>, name: string, look: (head: Buffer) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of source) {
    if (sizeBytes === 0) look(chunk);
    chunks.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > JSON_BYTES_MAX) throw new Error(`${name} is larger than ${JSON_BYTES_MAX / 2 ** 20} MiB`);
  }
  return Buffer.concat(chunks);
}

/** Resolves to the result of `reading`. Throws an Error of one line if the file cannot be read. */
export async function opened<Content>(file: string, reading: Promise<Content>): Promise<Content> {
  try {
    return await reading;
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ENOENT':
        throw new Error(`the file ${file} does not exist`);
      case 'EISDIR':
        throw new Error(
          `${file} is a folder: ${commandText('verify', `folder ${file}`)} checks that of a standalone node`,
        );
      case 'EACCES':
        throw new Error(`this user may not read ${file}`);
      default:
        throw error;
    }
  }
}
