/** A coordinator: in a process of its own (`node dist/coordinator/main.js`), or beside the shard in standalone mode. */
import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { type Logger, makeLogger } from '../shared/logger.js';
import { openCluster } from '../shared/natsPlatform.js';
import { registerService } from '../shared/natsService.js';
import { BUCKETS, type Platform } from '../shared/platform.js';
import { runProcess } from '../shared/process.js';
import { statusSubject } from '../shared/subjects.js';
import { version } from '../shared/version.js';
import type { Health } from './backend.js';
import { ClusterBackend } from './cluster/clusterBackend.js';
import { LEASE_MS, Leadership } from './cluster/leadership.js';
import { startEdge } from './edge.js';
import { LocalLimiter } from './limits/limiter.js';
import { SharedLimiter } from './limits/sharedLimiter.js';

export interface CoordinatorOptions {
  readonly config: Config;
  readonly platform: Platform;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export interface RunningCoordinator {
  readonly url: string;
  health(): Promise<Health>;
  stop(): Promise<void>;
}

export async function runCoordinator(options: CoordinatorOptions): Promise<RunningCoordinator> {
  const { config, platform, logger, clock = systemClock } = options;
  const backend = await ClusterBackend.start(config, platform, clock, logger);
  const leases = await platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS });
  const limiter = new SharedLimiter(
    new LocalLimiter(config.rateLimits, clock),
    new Leadership(leases, 'limits', randomUUID(), LEASE_MS, clock),
    platform.transport,
    clock,
    logger.child({ part: 'limits' }),
  );
  await limiter.start();
  const edge = await startEdge({ config, backend, limiter, platform, logger, clock, version });
  logger.info({ url: edge.url }, 'ready');
  return {
    url: edge.url,
    health: () => backend.health(),
    stop: async () => {
      await edge.stop();
      await limiter.stop();
      await backend.stop();
    },
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { nats: { type: 'string' } } });
  const config = loadConfigOrExit(process.env, values.nats === undefined ? {} : { nats: { url: values.nats } });
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
    const service = await registerService(platform, {
      name: 'vouch-coordinator',
      version,
      description: 'the HTTP edge: authenticates, limits, validates, routes, merges',
      metadata: { url: coordinator.url },
      endpoints: [
        {
          name: 'status',
          subject: statusSubject('coordinator', String(process.pid)),
          answer: () => coordinator.health(),
        },
      ],
    });
    return async () => {
      await service.stop();
      await coordinator.stop();
      await platform.close();
    };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
