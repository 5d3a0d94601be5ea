/** Builds of the product with one fault each. */
import { cp, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDirectory, replaceFile } from '../../shared/files/durable.js';
import type { Mutation } from './mutations.js';

/** Two folders up: this runs as `dist/test/simulate/mutants.js`. */
const DIST = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = dirname(DIST.replace(/\/$/, ''));
/** Below the checkout, whose packages it uses; what the product reads besides its code is beside its `dist`. */
const MUTANT = join(ROOT, '.cache', 'mutant');
const BESIDE = ['config', 'package.json'];

/** Throws an Error where the code is not as the mutation says. */
export function mutated(code: string, { name, file, find, put }: Mutation): string {
  const parts = code.split(find);
  if (parts.length !== 2)
    throw new Error(`"${name}" does not fit: ${file} has ${parts.length - 1} times what it changes`);
  return parts.join(put);
}

/** Throws an Error where the mutation does not fit the build. */
export const assertFits = async (mutation: Mutation): Promise<void> =>
  void mutated(await readFile(join(DIST, mutation.file), 'utf8'), mutation);

/** Makes the build, in place of the one before. Returns the program that simulates it. */
export async function makeMutant(mutation: Mutation): Promise<string> {
  await rm(MUTANT, { recursive: true, force: true });
  await makeDirectory(MUTANT);
  await cp(DIST, join(MUTANT, 'dist'), { recursive: true });
  for (const name of BESIDE) await cp(join(ROOT, name), join(MUTANT, name), { recursive: true });
  const path = join(MUTANT, 'dist', mutation.file);
  await replaceFile(path, mutated(await readFile(path, 'utf8'), mutation));
  return join(MUTANT, 'dist', 'test', 'simulate', 'child.js');
}
