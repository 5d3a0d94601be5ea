import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../../shared/files/durable.js';
import type { SeededRandom } from '../random.js';

/**
 * Alters one byte in the newest snapshot of each of a shard's collections. The shard must not run. Returns the number
 * of snapshots.
 */
export async function damageSnapshots(dataDir: string, shard: string, random: SeededRandom): Promise<number> {
  const folder = join(dataDir, 'snapshots', Buffer.from(shard).toString('hex'));
  let damaged = 0;
  for (const collection of await readdir(folder).catch(() => [])) {
    const snapshots = (await readdir(join(folder, collection))).filter((name) => name.endsWith('.snapshot'));
    const newest = snapshots.sort().at(-1);
    if (newest === undefined) continue;
    const path = join(folder, collection, newest);
    const bytes = await readFile(path);
    const at = random.int(bytes.length);
    bytes[at] = bytes[at]! ^ 0xff;
    await replaceFile(path, bytes);
    damaged++;
  }
  return damaged;
}
