/** Makes sure that there is a nats-server to start, unless the configuration says that none is needed. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SetupError } from './command.mjs';
import { step } from './steps.mjs';

export async function ensureNatsServer(root) {
  const load = (path) => import(pathToFileURL(join(root, 'dist', path)).href);
  if (!isNeeded(await load('config/load.js'))) return;
  const { findNatsServer } = await load('scripts/local/natsServer/find.js');
  let shown;
  const found = findNatsServer({
    onFetch: (from) => {
      shown ??= step('nats-server', `fetching it (${from})`, async () => `${(await found).version} fetched`);
    },
  });
  try {
    await found;
  } catch (error) {
    throw new SetupError(error.message);
  } finally {
    await shown?.catch(() => {}); // Its failure is the one of `found`.
  }
}

/** A configuration that cannot be read is reported by the command that uses it. */
function isNeeded({ loadConfig }) {
  try {
    const { mode, nats } = loadConfig(process.env);
    return mode === 'cluster' && nats.url === null;
  } catch {
    return false;
  }
}
