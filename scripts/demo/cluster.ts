/** The demo's own cluster: what `npm start` runs, on free ports and over a temporary folder that goes with it. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import { deleteTree, isRunning } from '../../shared/durable.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/natsPlatform.js';
import { ownershipOf } from '../../shared/owners.js';
import { BUCKETS } from '../../shared/platform.js';
import { ClusterService } from '../supervisor/clusterService.js';
import { readRuntime } from '../supervisor/runtimeFile.js';
import { EXIT_INTERRUPTED, onSignals } from '../terminal/signals.js';
import { expect, until } from './expectation.js';

const WITHIN_MS = 20_000;

export class Interrupted extends Error {}

/** Starts a cluster for as long as `work` takes. Whatever happens, its processes and files are gone in the end. */
export async function withCluster(work: (cluster: DemoCluster) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-demo-'));
  const environment = environmentOver(dataDir);
  // The spectator is told what goes wrong, and when it should.
  const service = new ClusterService(loadConfig(environment), environment, { showsAlarms: false });
  const interrupted = new AbortController();
  const interruption = listenForSignals(interrupted, () => {
    service.kill();
    void deleteTree(dataDir).finally(() => process.exit(EXIT_INTERRUPTED));
  });
  const run = async (): Promise<void> => {
    const { url, newKey } = await service.start(interrupted.signal);
    expect(newKey !== undefined, 'the new cluster made no key');
    await work(new DemoCluster(url, newKey, interrupted.signal, dataDir));
  };
  try {
    await Promise.race([run(), interruption]);
  } finally {
    await service.stop().finally(() => deleteTree(dataDir));
  }
}

/** Rejects at the first signal, for a clean end; calls `insist` at a later one. */
function listenForSignals(interrupted: AbortController, insist: () => void): Promise<never> {
  return new Promise((_, reject) => {
    const onSignal = onSignals(() => {
      interrupted.abort();
      reject(new Interrupted('interrupted'));
    }, insist);
    // Nobody watches any more: `npm run demo | head`.
    process.stdout.on('error', onSignal);
  });
}

/** What a person has set for a service of theirs is not for this one. */
function environmentOver(dataDir: string): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('VOUCH_'));
  return {
    ...Object.fromEntries(others),
    VOUCH_DATA_DIR: dataDir,
    VOUCH_PORT: '0',
    VOUCH_SHARDS: '2',
    VOUCH_RATE_LIMITS: 'off',
  };
}

export class DemoCluster {
  constructor(
    readonly url: string,
    readonly key: string,
    /** Aborted when the spectator has had enough. */
    readonly interrupted: AbortSignal,
    private readonly dataDir: string,
  ) {}

  /** Collection id → name of the shard that owns it, as the cluster's own bucket tells. */
  async owners(): Promise<ReadonlyMap<number, string>> {
    const platform = await openCluster({
      url: await this.#natsUrl(),
      name: 'vouch-demo',
      logger: silentLogger,
      replicas: 1,
      logStreams: 4,
    });
    try {
      const owners = new Map<number, string>();
      const watch = await (await platform.bucket(BUCKETS.owners)).watch(({ key, entry }) => {
        if (entry) owners.set(Number(key), ownershipOf(entry).shard);
      });
      watch.stop();
      return owners;
    } finally {
      await platform.close();
    }
  }

  /** kill -9. Returns the id of the process, which is gone. */
  async killShard(name: string): Promise<number> {
    const pid = await this.#pidOf(name);
    process.kill(pid, 'SIGKILL');
    await until(`shard ${name} did not end`, WITHIN_MS, () => (isRunning(pid) ? undefined : true));
    return pid;
  }

  /** A running process; where the last one was killed just now, the next one. */
  #pidOf(shard: string): Promise<number> {
    return until(`the supervisor did not start shard ${shard}`, WITHIN_MS, async () => {
      const pid = (await readRuntime(this.dataDir))?.processes[`shard ${shard}`];
      return pid !== undefined && isRunning(pid) ? pid : undefined;
    });
  }

  #natsUrl(): Promise<string> {
    return until('the supervisor did not say where NATS is', WITHIN_MS, async () => {
      return (await readRuntime(this.dataDir))?.natsUrl ?? undefined;
    });
  }
}
