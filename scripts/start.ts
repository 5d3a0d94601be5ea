/** `npm start`: a cluster on this machine, or the service in one process where the mode is `standalone`. */
import { loadConfigOrExit } from '../config/load.js';
import { ClusterService } from './supervisor/clusterService.js';
import { runService } from './supervisor/service.js';
import { StandaloneService } from './supervisor/standaloneService.js';
import { parseFlags, runCommand } from './terminal/commandLine.js';

const USAGE = `npm start

Takes no arguments. Settings are environment variables, such as VOUCH_PORT=9000 npm start, or a file that VOUCH_CONFIG names.`;

await runCommand({ name: 'start', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  const config = loadConfigOrExit(process.env);
  await runService(config.mode === 'standalone' ? new StandaloneService(config) : new ClusterService(config));
});
