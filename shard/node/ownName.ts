import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Entropy } from '../../shared/clock.js';
import { ifThere, makeDirectory } from '../../shared/files/durable.js';
import { takeLock } from '../../shared/files/folderLock.js';
import { toHex } from '../../shared/hashing/hash.js';

/**
 * Largest number of characters of the machine's name in a shard's name. That has up to 64: a dash and six hex digits distinguish
 * shards of one machine, and machines of equal names.
 */
const MACHINE_CHARS = 48;
const SUFFIX_BYTES = 3;
const NAME = /^[\w-]{1,64}$/;

export interface OwnName {
  readonly name: string;
  /** Stores and locks a new name. Call it before anything is stored under the name. */
  keep(): Promise<void>;
}

/**
 * Chooses the name of a shard without a configured one, and locks it until this process ends. Collections, snapshots and saved
 * indexes belong to a shard by its name. So names are kept in `<data folder>/names`, and a restarted shard takes its old one. A
 * second process with a name would end the first one. So shards of one data folder, and machines, get different names. Only `keep`
 * stores and locks a new name, so that a start that reaches no cluster leaves nothing behind.
 */
export async function takeOwnName(dataDir: string, entropy: Entropy): Promise<OwnName> {
  const folder = join(dataDir, 'names');
  const earlier = ((await ifThere(readdir(folder))) ?? []).filter((name) => NAME.test(name)).sort();
  for (const name of earlier) if (await isNowOurs(folder, name)) return { name, keep: async () => {} };
  const name = newName(entropy);
  const keep = async (): Promise<void> => {
    await makeDirectory(folder);
    if (await isNowOurs(folder, name)) return;
    throw new Error(
      `another process took the name for this shard in ${folder}; start again, or give it one with --name`,
    );
  };
  return { name, keep };
}

/** Takes the lock of this name. Returns false if another process has it. */
const isNowOurs = async (folder: string, name: string): Promise<boolean> =>
  'release' in (await takeLock(join(folder, name)));

function newName(entropy: Entropy): string {
  const machine = hostname()
    .replace(/[^\w-]/g, '-')
    .slice(0, MACHINE_CHARS);
  return `${machine}-${toHex(entropy(SUFFIX_BYTES))}`;
}
