/** Fetches a nats-server during the build, unless one is installed or an address is configured. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { esbuild } from './build.mjs';
import { SetupError } from './command.mjs';
import { Interrupted, interruptSignal } from './interrupt.mjs';
import { step } from './steps.mjs';

export async function ensureNatsServer(root) {
  const { VOUCH_NATS_URL, VOUCH_MODE, VOUCH_CONFIG } = process.env;
  if (VOUCH_NATS_URL || VOUCH_MODE === 'standalone') return;
  const { findNatsServer } = await finder(root);
  let shown;
  const found = findNatsServer({
    cacheDir: join(root, '.cache', 'nats'),
    signal: interruptSignal,
    onFetch: (from) => {
      shown ??= step('nats-server', `fetching it (${from})`, async () => `${(await found).version} fetched`);
    },
  });
  try {
    await found;
  } catch (error) {
    if (interruptSignal.aborted) throw new Interrupted('nats-server was not fetched');
    // A configuration file may name servers; if not, the command itself reports this error.
    if (!VOUCH_CONFIG) throw new SetupError(error.message);
  } finally {
    await shown?.catch(() => {}); // It fails with `found`.
  }
}

/** Bundles the module that finds a server, since the programs are not built yet. */
async function finder(root) {
  const { build } = await esbuild();
  const outfile = join(root, '.cache', 'findNatsServer.mjs');
  mkdirSync(join(root, '.cache'), { recursive: true });
  await build({
    entryPoints: [join(root, 'scripts', 'local', 'natsServer', 'find.ts')],
    ...{ bundle: true, format: 'esm', platform: 'node', logLevel: 'error', outfile },
  });
  return import(pathToFileURL(outfile).href);
}
