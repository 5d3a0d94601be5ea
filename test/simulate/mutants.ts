/** Builds of the product with one mutation each. */
import { cp, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDirectory, replaceFile } from '../../shared/files/durable.js';
import type { Mutation } from './mutations.js';

/** Two folders up: this file runs as `dist/test/simulate/mutants.js`. */
const DIST = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = dirname(DIST.replace(/\/$/, ''));
/**
 * Folder of the mutant, inside the checkout because it uses its packages. Other files that the product reads lie beside
 * its `dist`.
 */
const MUTANT = join(ROOT, '.cache', 'mutant');
const BESIDE = ['config', 'package.json'];

/** Throws an Error if the code is not as the mutation expects. */
export function mutated(code: string, { name, file, find, put }: Mutation): string {
  const parts = code.split(find);
  if (parts.length !== 2)
    throw new Error(`"${name}" does not fit: ${file} contains the text to replace ${parts.length - 1} times, not once`);
  return parts.join(put);
}

/** Throws an Error if the mutation does not fit the build. */
export const assertFits = async (mutation: Mutation): Promise<void> =>
  void mutated(await readFile(join(DIST, mutation.file), 'utf8'), mutation);

/** Makes the build and replaces the previous one. Returns the program that simulates it. */
export async function makeMutant(mutation: Mutation): Promise<string> {
  await rm(MUTANT, { recursive: true, force: true });
  await makeDirectory(MUTANT);
  await cp(DIST, join(MUTANT, 'dist'), { recursive: true });
  for (const name of BESIDE) await cp(join(ROOT, name), join(MUTANT, name), { recursive: true });
  const path = join(MUTANT, 'dist', mutation.file);
  await replaceFile(path, mutated(await readFile(path, 'utf8'), mutation));
  return join(MUTANT, 'dist', 'test', 'simulate', 'child.js');
}
