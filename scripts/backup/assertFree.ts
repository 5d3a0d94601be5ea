import { dirname } from 'node:path';
import { isThere } from '../../shared/files/durable.js';

/** Throws an Error of one line unless a file or folder can be made there. */
export async function assertFree(path: string): Promise<void> {
  if (await isThere(path)) throw new Error(`${path} is there already: choose another name`);
  if (!(await isThere(dirname(path)))) throw new Error(`the folder ${dirname(path)} does not exist`);
}
