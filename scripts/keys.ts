/** `npm run keys`: makes, lists and revokes API keys and rotates the master key, of the service that runs or of a node's files. */
import { loadConfigOrExit } from '../config/load.js';
import { messageOf } from '../shared/errors.js';
import { runRequest } from './keys/commands.js';
import { parseRequest, USAGE, UsageError } from './keys/request.js';
import { openKeyStore } from './keys/store.js';
import { say } from './terminal/line.js';

const EXIT_USAGE = 2;

try {
  const request = parseRequest(process.argv.slice(2));
  const config = loadConfigOrExit(process.env);
  const store = await openKeyStore(config);
  try {
    await runRequest(request, store, config);
  } finally {
    await store.close();
  }
} catch (error) {
  const isUsage = error instanceof UsageError;
  say('failed', 'keys', messageOf(error));
  if (isUsage) process.stderr.write(`\n${USAGE}\n`);
  process.exitCode = isUsage ? EXIT_USAGE : 1;
}
