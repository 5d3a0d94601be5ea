/** `npm run standalone`: the whole service in one process, without NATS. The same as `VOUCH_MODE=standalone npm start`. */
import { loadConfigOrExit } from '../config/load.js';
import { runService } from './supervisor/service.js';
import { StandaloneService } from './supervisor/standaloneService.js';

await runService(new StandaloneService(loadConfigOrExit(process.env, { mode: 'standalone' })));
