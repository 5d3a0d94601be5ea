/** `npm start`: a cluster on this machine, or the service in one process where the mode is `standalone`. */
import { loadConfigOrExit } from '../config/load.js';
import { ClusterService } from './supervisor/clusterService.js';
import { runService } from './supervisor/service.js';
import { StandaloneService } from './supervisor/standaloneService.js';

const config = loadConfigOrExit(process.env);
await runService(config.mode === 'standalone' ? new StandaloneService(config) : new ClusterService(config));
