/** `npm run keys`: API keys, the master key, the key of the service log, users and streams of NATS, and quarantined collections. It works on the running service or on a node's files. */
import { loadConfigOrExit } from '../config/load.js';
import { makeLogKey, makeMasterKey, makeNatsUsers, runRequest } from './keys/commands.js';
import { KEY_USAGE, parseKeyRequest } from './keys/request.js';
import { makeStreams, openKeyStore } from './keys/store.js';
import { runCommand } from './terminal/commandLine.js';
import { say } from './terminal/line.js';

await runCommand({ name: 'keys', usage: KEY_USAGE }, async (args) => {
  const request = parseKeyRequest(args);
  if (request.command === 'nats') return makeNatsUsers(request);
  if (request.command === 'master') return makeMasterKey(request);
  const config = loadConfigOrExit(process.env);
  if (request.command === 'log') return makeLogKey(config);
  if (request.command === 'streams') {
    await makeStreams(config);
    return say('done', 'streams', 'every stream and bucket of the cluster exists');
  }
  const store = await openKeyStore(config, request.command === 'rotate-master' ? 'shard' : 'coordinator');
  try {
    await runRequest(request, store, config);
  } finally {
    await store.close();
  }
});
