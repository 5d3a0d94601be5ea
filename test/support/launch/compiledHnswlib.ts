/** hnswlib-node, compiled by set-up as for `npm run load -- … --from hnswlib`. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { skip } from '../skip.js';
import { ROOT } from '../sourceTree.js';

const COMPILE_MS = 300_000;

interface Setup {
  compileHnswlib(root: string): Promise<void>;
}

export const hnswlibSetup = (): Promise<Setup> =>
  import(pathToFileURL(join(ROOT, 'scripts', 'setup', 'hnswlib.mjs')).href);

/** Skips the suite where this machine cannot compile it. */
export async function compileHnswlib(context: Mocha.Context): Promise<void> {
  context.timeout(COMPILE_MS);
  const { compileHnswlib: compile } = await hnswlibSetup();
  await compile(ROOT).catch((error: Error) => skip(context, `hnswlib-node is not compiled: ${error.message}`));
}
