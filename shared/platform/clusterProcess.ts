/** Runs a process of a cluster: connects to NATS, registers it as a service, and ends it in order. */
import type { Config } from '../../config/config.js';
import { strayWarnings } from '../../config/load.js';
import type { Logger } from '../logger.js';
import { releaseMemoryAtRest } from '../process/memoryAtRest.js';
import { runProcess } from '../process/process.js';
import { START_WITHIN_MS } from '../process/startUp.js';
import { statusSubject } from '../transport/subjects.js';
import { version } from '../version.js';
import { type ClusterPlatform, openCluster } from './natsPlatform.js';
import { registerService, type ServiceDescription } from './natsService.js';

export interface ClusterProcess {
  readonly role: 'coordinator' | 'shard';
  readonly name: string;
  readonly config: Config;
  readonly logger: Logger;
  /** See `runProcess`. */
  readonly drainTimeoutMs?: number;
}

export interface StartedProcess extends Pick<ServiceDescription, 'description' | 'serves' | 'metadata'> {
  /** Its status for `nats req`. */
  status(): Promise<unknown>;
  /** Called first when the process ends, while it is still registered. */
  leave?(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a process of a cluster once it is connected. `end` ends it with this exit code. */
export type StartProcess = (platform: ClusterPlatform, end: (exitCode: number) => void) => Promise<StartedProcess>;

/** Returns when the process is registered; it then runs until a signal or `end`. */
export async function runClusterProcess(wanted: ClusterProcess, start: StartProcess): Promise<void> {
  for (const warning of strayWarnings(process.env)) wanted.logger.warn(warning);
  const run = async (end: (exitCode: number) => void): Promise<() => Promise<void>> => {
    const stop = await startClusterProcess(wanted, start, end);
    releaseMemoryAtRest();
    return stop;
  };
  await runProcess(wanted.logger, run, wanted.drainTimeoutMs);
}

/** Connects, starts and registers it. Returns the function that ends it in order. */
export async function startClusterProcess(
  { role, name, config, logger }: ClusterProcess,
  start: StartProcess,
  end: (exitCode: number) => void,
): Promise<() => Promise<void>> {
  const platform = await openCluster({
    ...config.nats,
    name: `vouch-${role}-${name}`,
    role,
    logger,
    connectWithinMs: START_WITHIN_MS,
  });
  const started = await start(platform, end);
  const { description, serves, metadata } = started;
  const service = await registerService(platform, {
    ...{ name: `vouch-${role}` as const, version, instance: name, description, serves, metadata },
    endpoint: { name: 'status', subject: statusSubject(role, name), answer: () => started.status() },
  });
  return async () => {
    await started.leave?.();
    await service.stop();
    await started.stop();
    await platform.close();
  };
}
