/** A coordinator: in a process of its own (`node dist/coordinator/main.js`), or beside the shard in standalone mode. */
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { type Logger, makeLogger } from '../shared/logger.js';
import { openCluster } from '../shared/natsPlatform.js';
import type { Platform } from '../shared/platform.js';
import { runProcess } from '../shared/process.js';
import { version } from '../shared/version.js';
import { ClusterBackend } from './cluster/clusterBackend.js';
import { startEdge } from './edge.js';

export interface CoordinatorOptions {
  readonly config: Config;
  readonly platform: Platform;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export async function runCoordinator(options: CoordinatorOptions): Promise<{ url: string; stop(): Promise<void> }> {
  const { config, platform, logger, clock = systemClock } = options;
  const backend = await ClusterBackend.start(config, platform, clock, logger);
  const edge = await startEdge({ config, backend, platform, logger, clock, version });
  logger.info({ url: edge.url }, 'ready');
  return {
    url: edge.url,
    stop: async () => {
      await edge.stop();
      await backend.stop();
    },
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { nats: { type: 'string' } } });
  const config = loadConfig(process.env, values.nats === undefined ? {} : { nats: { url: values.nats } });
  const logger = makeLogger('coordinator', config.logLevel);
  await runProcess(logger, async () => {
    const platform = await openCluster({
      url: config.nats.url,
      name: 'vouch-coordinator',
      logger,
      replicas: config.nats.replicas,
      logStreams: config.nats.logStreams,
    });
    const coordinator = await runCoordinator({ config, platform, logger });
    return async () => {
      await coordinator.stop();
      await platform.close();
    };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
