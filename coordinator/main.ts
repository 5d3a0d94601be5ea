/** A coordinator: in a process of its own (`node dist/coordinator/main.js`), or beside the shard in standalone mode. */
import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import type { Bucket } from '../shared/bucket/bucket.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { type Logger, makeLogger } from '../shared/logger.js';
import { openCluster } from '../shared/natsPlatform.js';
import { registerService } from '../shared/natsService.js';
import { BUCKETS, type Platform } from '../shared/platform.js';
import { runProcess } from '../shared/process.js';
import { readProcessFlagsOrExit } from '../shared/processFlags.js';
import { START_WITHIN_MS } from '../shared/startUp.js';
import { statusSubject } from '../shared/subjects.js';
import { version } from '../shared/version.js';
import type { Health } from './backend.js';
import { ClusterBackend } from './cluster/clusterBackend.js';
import { LEASE_MS, Leadership } from './cluster/leadership.js';
import { startEdge } from './edge.js';
import { LocalLimiter } from './limits/limiter.js';
import { SharedGrants } from './limits/sharedGrants.js';
import { SharedLimiter } from './limits/sharedLimiter.js';

export interface CoordinatorOptions {
  readonly config: Config;
  readonly platform: Platform;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** What it is called among the coordinators of its cluster. */
  readonly name?: string;
}

export interface RunningCoordinator {
  readonly url: string;
  health(): Promise<Health>;
  stop(): Promise<void>;
}

export async function runCoordinator(options: CoordinatorOptions): Promise<RunningCoordinator> {
  const { config, platform, logger, clock = systemClock, name = `c${process.pid}` } = options;
  // Another process of the same name is another holder.
  const holder = `${name}.${randomUUID()}`;
  const backend = await ClusterBackend.start(config, platform, clock, logger, holder);
  const leases = await platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS });
  const limiter = limiterOf({ ...options, clock }, leases, holder);
  await limiter.start();
  const edge = await startEdge({ config, backend, limiter, platform, logger, clock, version });
  if (config.http.sharePort && config.metrics === null)
    logger.warn('a shared port tells the metrics of whichever coordinator is reached; set VOUCH_METRICS for each');
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

function limiterOf(
  { config, platform, logger, clock }: CoordinatorOptions & { readonly clock: Clock },
  leases: Bucket,
  holder: string,
): SharedLimiter {
  const { transport } = platform;
  const log = logger.child({ part: 'limits' });
  const local = new LocalLimiter(config.rateLimits, clock);
  const grants = new SharedGrants(local, holder, transport, clock, log);
  const leadership = new Leadership(leases, 'limits', holder, LEASE_MS, clock);
  return new SharedLimiter(local, grants, leadership, transport, clock, log);
}

async function main(): Promise<void> {
  const flags = readProcessFlagsOrExit('coordinator');
  const name = flags.name ?? `c${process.pid}`;
  const config = loadConfigOrExit(process.env, flags.nats === undefined ? {} : { nats: { url: flags.nats } });
  const logger = makeLogger(flags.name === undefined ? 'coordinator' : `coordinator ${name}`, config.logLevel);
  await runProcess(logger, async () => {
    const platform = await openCluster({
      url: config.nats.url,
      name: `vouch-coordinator-${name}`,
      logger,
      connectWithinMs: START_WITHIN_MS,
      replicas: config.nats.replicas,
      logStreams: config.nats.logStreams,
    });
    const coordinator = await runCoordinator({ config, platform, logger, name });
    const service = await registerService(platform, {
      name: 'vouch-coordinator',
      version,
      description: 'the HTTP edge: authenticates, limits, validates, routes, merges',
      instance: name,
      serves: ['limits'],
      metadata: { coordinator: name, url: coordinator.url },
      endpoints: [{ name: 'status', subject: statusSubject('coordinator', name), answer: () => coordinator.health() }],
    });
    return async () => {
      await service.stop();
      await coordinator.stop();
      await platform.close();
    };
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
