/** Finds the service and the key to use. */
import { readFile } from 'node:fs/promises';
import type { Config } from '../../config/config.js';
import { codeOf } from '../../shared/durable.js';
import { defaultKeyFile } from '../supervisor/firstKey.js';
import { nothingRunsOn, readRuntime } from '../supervisor/runtimeFile.js';

export interface Target {
  readonly url: string;
  readonly key: string;
}

/**
 * Without an address, the service that runs on the data folder; the key saved there is for that service alone and is
 * shown to no other. Throws an Error of one line.
 */
export async function findTarget(
  wanted: { readonly url: string | undefined; readonly key: string | undefined },
  { dataDir }: Config,
): Promise<Target> {
  const running = (await readRuntime(dataDir))?.url ?? undefined;
  const url = wanted.url ?? running;
  if (url === undefined) throw await nothingRunsOn(dataDir, "give the service's address as --url");
  const key = wanted.key ?? (url === running ? await savedKey(dataDir) : undefined);
  if (key === undefined) throw new Error(`${url} needs an API key: give it as --key, or in VOUCH_KEY`);
  return { url, key };
}

async function savedKey(dataDir: string): Promise<string | undefined> {
  try {
    return (await readFile(defaultKeyFile(dataDir), 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
