/** `npm run standalone`: the whole service in one process, without NATS, like `VOUCH_MODE=standalone npm start`. */
import { loadConfigOrExit } from '../config/load.js';
import { runService } from './local/supervisor/service.js';
import { StandaloneService } from './local/supervisor/standaloneService.js';
import { commandText, parseFlags, runCommand } from './terminal/commandLine.js';

const USAGE = `${commandText('standalone')}

Takes no arguments. Settings are environment variables, such as VOUCH_PORT=9000 ${commandText('standalone')}, or a file that
VOUCH_CONFIG names.`;

await runCommand({ name: 'standalone', usage: USAGE }, async (args) => {
  parseFlags({ args: [...args], options: {} });
  await runService(new StandaloneService(loadConfigOrExit(process.env, { mode: 'standalone' })));
});
