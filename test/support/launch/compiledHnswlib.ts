/** hnswlib-node, compiled by set-up like for `npm run load -- … --from hnswlib`. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { skip } from '../skip.js';
import { ROOT } from '../sourceTree.js';

const COMPILE_MS = 300_000;

interface Setup {
  compileHnswlib(root: string): Promise<void>;
}

interface Lock {
  withLock(file: string, onWait: (holder: string) => void, work: () => Promise<void>): Promise<void>;
}

const setupPart = (name: string): Promise<unknown> => import(pathToFileURL(join(ROOT, 'scripts', 'setup', name)).href);

export const hnswlibSetup = async (): Promise<Setup> => (await setupPart('hnswlib.mjs')) as Setup;

/** Skips the suite if this machine cannot compile it. Suites of other processes wait meanwhile. */
export async function compileHnswlib(context: Mocha.Context): Promise<void> {
  context.timeout(COMPILE_MS);
  const { compileHnswlib: compile } = await hnswlibSetup();
  const { withLock } = (await setupPart('lock.mjs')) as Lock;
  const lock = join(ROOT, '.cache', 'setup.lock');
  await withLock(
    lock,
    () => undefined,
    () => compile(ROOT).catch((error: Error) => skip(context, `hnswlib-node is not compiled: ${error.message}`)),
  );
}
