/** `npm start`: a cluster on this machine, or the service in one process if the mode is `standalone`. */
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import { runService } from './local/supervisor/service.js';
import { commandText, parseFlags, runCommand } from './terminal/commandLine.js';

const USAGE = `${commandText('start')}

Takes no arguments. Settings are environment variables, such as VOUCH_PORT=9000 ${commandText('start')}, or a file
that VOUCH_CONFIG names.`;

/** Loads only the code of the mode: a cluster's service runs in other processes. */
async function serviceOf(config: Config) {
  if (config.mode === 'standalone') {
    const { StandaloneService } = await import('./local/supervisor/standaloneService.js');
    return new StandaloneService(config);
  }
  const { ClusterService } = await import('./local/supervisor/clusterService.js');
  return new ClusterService(config);
}

await runCommand({ name: 'start', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  await runService(await serviceOf(loadConfigOrExit(process.env)));
});
