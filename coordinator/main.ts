/** The process of a coordinator: `node dist/coordinator/main.js`. */
import { loadConfigOrExit } from '../config/load.js';
import { makeLogger } from '../shared/logger.js';
import { runClusterProcess } from '../shared/platform/clusterProcess.js';
import { readProcessFlagsOrExit } from '../shared/process/processFlags.js';
import { coordinatorProcess } from './coordinator.js';

const flags = readProcessFlagsOrExit('coordinator');
const name = flags.name ?? `c${process.pid}`;
const config = loadConfigOrExit(process.env, flags.nats === undefined ? {} : { nats: { url: flags.nats } });
const logger = makeLogger(flags.name === undefined ? 'coordinator' : `coordinator ${name}`, config.logLevel);
const wanted = { config, name, logger };
await runClusterProcess({ role: 'coordinator', ...wanted }, coordinatorProcess(wanted));
