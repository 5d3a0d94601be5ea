/** `npm run keys`: makes, lists and revokes API keys and rotates the master key, of the service that runs or of a node's files. */
import { loadConfigOrExit } from '../config/load.js';
import { runRequest } from './keys/commands.js';
import { parseRequest, USAGE } from './keys/request.js';
import { openKeyStore } from './keys/store.js';
import { runCommand } from './terminal/commandLine.js';

await runCommand({ name: 'keys', usage: USAGE }, async (args) => {
  const request = parseRequest(args);
  const config = loadConfigOrExit(process.env);
  const store = await openKeyStore(config);
  try {
    await runRequest(request, store, config);
  } finally {
    await store.close();
  }
});
