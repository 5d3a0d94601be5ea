/** The part of the client that imports modules of Node. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { CheckpointStore } from './pinnedCheckpoints.js';

/** Stores pinned checkpoints in a JSON file, which is created if necessary. Only one process at a time may use it. */
export function fileStore(path: string): CheckpointStore {
  let kept: Promise<Map<string, string>> | undefined;
  let saving: Promise<unknown> = Promise.resolve();
  const read = async (): Promise<Map<string, string>> => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    });
    return new Map(Object.entries(JSON.parse(text) as Record<string, string>));
  };
  const all = (): Promise<Map<string, string>> => {
    kept ??= read();
    return kept;
  };
  const save = async (): Promise<void> => {
    await writeFile(`${path}.new`, `${JSON.stringify(Object.fromEntries(await all()), null, 2)}\n`);
    await rename(`${path}.new`, path);
  };
  return {
    get: async (key) => (await all()).get(key),
    set: async (key, value) => {
      (await all()).set(key, value);
      saving = saving.then(save, save);
      await saving;
    },
  };
}
