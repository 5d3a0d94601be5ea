/** Makes Node's file functions fail like on a bad disk. */
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** Error with a `code`, like Node's system errors. */
export const systemError = (code: string): Error => Object.assign(new Error(code), { code });

/** Prototype of every open file or folder. */
export async function fileHandlePrototype(): Promise<FileHandle> {
  const handle = await open(tmpdir(), 'r');
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}
