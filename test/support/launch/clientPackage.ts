import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../sourceTree.js';

/** Builds the client's package in a new folder. */
export async function packageOfClient(folder: string): Promise<{ readonly tarball: string }> {
  await promisify(execFile)(process.execPath, ['scripts/setup.mjs', 'client', folder], { cwd: ROOT });
  return { tarball: join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz'))!) };
}
