import { join } from 'node:path';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { systemClock, systemEntropy } from '../../shared/clock.js';
import { makeDirectory, move, PRIVATE_MODE, replaceFile } from '../../shared/durable.js';
import { createKey, listKeys } from '../../shared/keys.js';

export const defaultKeyFile = (dataDir: string): string => join(dataDir, 'keys', 'default.key');

/**
 * Where there is no key at all, makes one for the project `default`, saves it, readable by its owner alone, and returns
 * it; undefined where there are keys. The key of another service, as of other NATS servers, that this folder was used with is
 * moved to `default.key.<time in ms>`: nobody could get it back.
 */
export async function makeFirstKey(bucket: Bucket, dataDir: string): Promise<string | undefined> {
  if ((await listKeys(bucket)).length > 0) return undefined;
  const wanted = { project: 'default', scope: 'read_write', label: 'made at the first start' } as const;
  const { key } = await createKey(bucket, wanted, systemClock, systemEntropy);
  const file = defaultKeyFile(dataDir);
  await makeDirectory(join(dataDir, 'keys'));
  await move(file, `${file}.${systemClock.nowMs()}`);
  await replaceFile(file, `${key}\n`, PRIVATE_MODE);
  return key;
}
