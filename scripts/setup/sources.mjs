/** The project's source files, what they hold (as hashes) and which others they import. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const FOLDERS = ['config', 'coordinator', 'scripts', 'shard', 'shared', 'test'];

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * Every file under the folders whose name ends so, relative to the root, sorted.
 * @returns {string[]}
 */
export function filesUnder(root, folders, ending) {
  const found = [];
  const walk = (folder) => {
    let entries = [];
    try {
      entries = readdirSync(join(root, folder), { withFileTypes: true });
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (entry.name.endsWith(ending)) found.push(path);
    }
  };
  for (const folder of folders) walk(folder);
  return found.sort();
}

const KERNEL = join('shard', 'kernel', 'assembly');

/** TypeScript sources, without the kernel's AssemblyScript. */
export const typeScriptSources = (root) =>
  filesUnder(root, FOLDERS, '.ts').filter((path) => !path.startsWith(KERNEL) && !path.endsWith('.d.ts'));

export const kernelSources = (root) => [
  ...filesUnder(root, [KERNEL], ''),
  ...filesUnder(root, ['scripts'], 'buildKernel.mjs'),
];

/** @returns {Record<string, string>} path → hash of its content */
export const hashesOf = (root, paths) =>
  Object.fromEntries(paths.map((path) => [path, sha256(readFileSync(join(root, path)))]));

/** The given files and all they import, directly or not. */
export function importClosure(root, paths) {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    let text;
    try {
      text = readFileSync(join(root, path), 'utf8');
    } catch {
      return;
    }
    seen.add(path);
    for (const [, target] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)\.js'/g))
      visit(normalize(join(dirname(path), `${target}.ts`)));
  };
  for (const path of paths) visit(path);
  return seen;
}
