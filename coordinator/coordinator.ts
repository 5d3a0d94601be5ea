/** A coordinator: in a process of its own, or beside the shard in standalone mode. */
import type { Config } from '../config/config.js';
import { BUCKETS } from '../shared/bucket/buckets.js';
import { systemClock as clock, systemId } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import { Metrics } from '../shared/metrics/metrics.js';
import { observeProcess } from '../shared/metrics/processMetrics.js';
import type { StartProcess } from '../shared/platform/clusterProcess.js';
import type { Platform } from '../shared/platform/platform.js';
import { hashSeedWarning } from '../shared/process/hashSeed.js';
import { PROTOCOL_VERSION, untilOneVersion } from '../shared/protocol/version.js';
import { coordinatorOf } from '../shared/registry/leases.js';
import { shardOf } from '../shared/registry/owners.js';
import { version } from '../shared/version.js';
import { ClusterBackend } from './cluster/clusterBackend.js';
import { LEASE_MS, Leadership } from './cluster/members/leadership.js';
import { Presence } from './cluster/members/presence.js';
import type { Health } from './cluster/reports/clusterHealth.js';
import { startEdge } from './edge.js';
import type { HttpEngine } from './http/engine/engine.js';
import { LocalLimiter, NO_LIMITER } from './limits/limiter.js';
import { SharedLimiter } from './limits/sharedLimiter.js';
import { ServiceLog } from './serviceLog/serviceLog.js';

export interface CoordinatorOptions {
  readonly config: Config;
  readonly platform: Platform;
  readonly logger: Logger;
  /** Its name in the cluster. */
  readonly name?: string;
  /** Undefined: the engine in the settings. */
  readonly engine?: HttpEngine;
}

export interface RunningCoordinator {
  readonly url: string;
  health(): Promise<Health>;
  stop(): Promise<void>;
}

export async function runCoordinator(options: CoordinatorOptions): Promise<RunningCoordinator> {
  const { config, platform, logger, name = `c${process.pid}`, engine } = options;
  // Unique, so that another process of this name cannot renew these leases.
  const holder = `${name}.${systemId()}`;
  const metrics = new Metrics('coordinator');
  const backend = await ClusterBackend.start(config, platform, { metrics, clock, logger, holder });
  const leases = await platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS });
  const limiter = sharedLimiter();
  await limiter?.start();
  const serviceLog = await ServiceLog.start({
    ...{ config: config.serviceLog, platform, sources: backend.logSources, metrics, clock },
    logger: logger.child({ part: 'service log' }),
  });
  const edge = await startEdge({
    ...{ serviceLog, config, backend, platform, metrics, logger, clock, version, engine },
    limiter: limiter ?? NO_LIMITER,
  });
  const member = { holder, name, url: edge.url, version, startedAtMs: clock.nowMs(), protocol: PROTOCOL_VERSION };
  const presence = new Presence(leases, member, logger);
  await presence.start();
  const endObserving = observeProcess(metrics, platform.transport);
  if (config.http.sharePort && config.metrics === null)
    logger.warn('a shared port serves the metrics of any of its coordinators; set VOUCH_METRICS for each');
  const warning = hashSeedWarning(process.versions.node);
  if (warning !== undefined) logger.warn(warning);
  logger.info({ url: edge.url }, 'ready');
  return {
    url: edge.url,
    health: () => backend.health(),
    stop: async () => {
      await presence.stop();
      await edge.stop();
      await limiter?.stop();
      await serviceLog.stop();
      await backend.stop();
      endObserving();
    },
  };

  /** Undefined if no project is limited. */
  function sharedLimiter(): SharedLimiter | undefined {
    if (config.rateLimits === 'off') return undefined;
    const leadership = new Leadership(leases, { name: 'limits', holder: holder, ttlMs: LEASE_MS }, clock);
    const local = new LocalLimiter(config.rateLimits, clock);
    return new SharedLimiter(local, leadership, platform.transport, {
      clock,
      logger: logger.child({ part: 'limits' }),
    });
  }
}

/** A coordinator as a process of a cluster. */
export const coordinatorProcess =
  (wanted: Omit<CoordinatorOptions, 'platform'>): StartProcess =>
  async (platform) => {
    const { config, logger } = wanted;
    const leases = await platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS });
    await untilOneVersion(leases, coordinatorOf, { clock, logger });
    const shards = await platform.bucket(BUCKETS.shards, { ttlMs: config.placement.leaseMs });
    await untilOneVersion(shards, shardOf, { clock, logger });
    const coordinator = await runCoordinator({ ...wanted, platform });
    return {
      description: 'the HTTP edge: authenticates, limits, validates, routes, merges',
      serves: wanted.config.rateLimits === 'off' ? [] : ['limits'],
      metadata: { coordinator: wanted.name ?? '', url: coordinator.url },
      status: () => coordinator.health(),
      stop: () => coordinator.stop(),
    };
  };
