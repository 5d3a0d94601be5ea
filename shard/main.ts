/** The process of a shard: `node dist/shard/main.js --name s1`. */
import { loadConfigOrExit } from '../config/load.js';
import { systemEntropy } from '../shared/clock.js';
import { makeLogger } from '../shared/logger.js';
import { runClusterProcess } from '../shared/platform/clusterProcess.js';
import { readProcessFlagsOrExit } from '../shared/process/processFlags.js';
import { takeOwnName } from './node/ownName.js';
import { shardProcess } from './shard.js';

const flags = readProcessFlagsOrExit('shard');
const config = loadConfigOrExit(process.env, flags.nats === undefined ? {} : { nats: { url: flags.nats } });
const own = flags.name === undefined ? await takeOwnName(config.dataDir, systemEntropy) : undefined;
const name = own?.name ?? flags.name!;
const wanted = { config, name, logger: makeLogger(`shard ${name}`, config.logLevel) };
const { drainTimeoutMs } = config.placement;
const start = shardProcess(wanted);
await runClusterProcess({ role: 'shard', ...wanted, drainTimeoutMs }, async (platform, end) => {
  await own?.keep();
  return start(platform, end);
});
