import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/** A path as the caller meant it: npm runs a script in the folder of the package, wherever it was called. */
export const callersPath = (path: string): string => resolve(process.env.INIT_CWD ?? '.', path);

/** `-`: standard input. Throws an Error of one line where it cannot be read or is not JSON. */
export async function readJson(file: string): Promise<unknown> {
  const name = file === '-' ? 'standard input' : file;
  const content = file === '-' ? await text(process.stdin) : await opened(file, readFile(callersPath(file), 'utf8'));
  if (content.trim() === '') throw new Error(`${name} is empty`);
  try {
    return JSON.parse(content);
  } catch {
    throw new Error(`${name} is not JSON`);
  }
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
