import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/** A path as the caller meant it: npm runs a script in the folder of the package, wherever it was called. */
export const callersPath = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);

/** `-`: standard input. Throws an Error of one line where it cannot be read or is not JSON. */
export async function readJson(file: string): Promise<unknown> {
  const content = file === '-' ? await text(process.stdin) : await readFile(callersPath(file), 'utf8');
  try {
    return JSON.parse(content);
  } catch {
    throw new Error(`${file === '-' ? 'standard input' : file} is not JSON`);
  }
}
