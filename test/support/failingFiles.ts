/** Files of Node that fail as those of a bad disk do. */
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** As Node's errors of the system are, for whoever looks at the code. */
export const systemError = (code: string): Error => Object.assign(new Error(code), { code });

/** What every open file or folder has its methods from. */
export async function fileHandlePrototype(): Promise<FileHandle> {
  const handle = await open(tmpdir(), 'r');
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}
