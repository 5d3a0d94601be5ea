import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Entropy } from '../../shared/clock.js';
import { makeDirectory } from '../../shared/files/durable.js';
import { takeLock } from '../../shared/files/folderLock.js';
import { toHex } from '../../shared/hashing/hash.js';

/**
 * Largest number of characters that a name takes from the machine's name. A name has up to 64; a dash and six hex digits
 * distinguish shards of one machine, and machines with one name.
 */
const MACHINE_CHARS = 48;
const SUFFIX_BYTES = 3;
const NAME = /^[\w-]{1,64}$/;

/**
 * Chooses the name of a shard that has none configured, and locks it until this process ends. Collections, snapshots
 * and saved indexes belong to a name across restarts, so names are kept in `<data folder>/names`. A second process with
 * a name replaces the first. So no two shards of a data folder, and no two machines, get one name.
 */
export async function takeOwnName(dataDir: string, entropy: Entropy): Promise<string> {
  const folder = join(dataDir, 'names');
  await makeDirectory(folder);
  const earlier = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
  for (const name of [...earlier, newName(entropy)]) if ('release' in (await takeLock(join(folder, name)))) return name;
  throw new Error(`another process took the name for this shard in ${folder}; start again, or give it one with --name`);
}

function newName(entropy: Entropy): string {
  const machine = hostname()
    .replace(/[^\w-]/g, '-')
    .slice(0, MACHINE_CHARS);
  return `${machine}-${toHex(entropy(SUFFIX_BYTES))}`;
}
