/** The demo's own cluster: that of `npm start`, on free ports and in a temporary folder. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../config/load.js';
import { entriesOf } from '../../shared/bucket/bucket.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { deleteTree } from '../../shared/files/durable.js';
import { isRunning } from '../../shared/files/isRunning.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/platform/natsPlatform.js';
import { ownershipOf } from '../../shared/registry/owners.js';
import { ClusterService } from '../local/supervisor/clusterService.js';
import { EXIT_INTERRUPTED, onSignals } from '../terminal/signals.js';
import { expect, until } from './story.js';

const WITHIN_MS = 20_000;

export class Interrupted extends Error {}

/** Runs a cluster during `work`. Its processes and files are removed in the end, also after a failure. */
export async function withCluster(work: (cluster: DemoCluster) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'vouch-demo-'));
  const environment = environmentOver(dataDir);
  // The demo reports failures itself.
  const service = new ClusterService(loadConfig(environment), environment, { showsAlarms: false });
  const interrupted = new AbortController();
  const interruption = new Promise<never>((_, reject) => {
    const onSignal = onSignals(
      () => {
        interrupted.abort();
        reject(new Interrupted('interrupted'));
      },
      () => {
        service.kill();
        void deleteTree(dataDir).finally(() => process.exit(EXIT_INTERRUPTED));
      },
    );
    // The output may be closed, as by `npm run demo | head`.
    process.stdout.on('error', onSignal);
  });
  const run = async (): Promise<void> => {
    const { url, newKey } = await service.start(interrupted.signal);
    expect(newKey !== undefined, 'the new cluster made no key');
    await work(new DemoCluster(url, newKey, interrupted.signal, service));
  };
  try {
    await Promise.race([run(), interruption]);
  } finally {
    await service.stop().finally(() => deleteTree(dataDir));
  }
}

/** The environment without the settings of another service. */
const environmentOver = (dataDir: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VOUCH_'))),
  VOUCH_DATA_DIR: dataDir,
  VOUCH_PORT: '0',
  VOUCH_SHARDS: '2',
  VOUCH_RATE_LIMITS: 'off',
});

export class DemoCluster {
  constructor(
    readonly url: string,
    readonly key: string,
    /** Aborted at a signal. */
    readonly interrupted: AbortSignal,
    private readonly service: ClusterService,
  ) {}

  /** The name of the shard that owns each collection, from the cluster's own bucket. */
  async owners(): Promise<ReadonlyMap<number, string>> {
    const platform = await openCluster({
      ...this.service.natsAs('operator'),
      name: 'vouch-demo',
      logger: silentLogger,
    });
    try {
      const entries = await entriesOf(await platform.bucket(BUCKETS.owners));
      return new Map(entries.map((entry) => [Number(entry.key), ownershipOf(entry).shard]));
    } finally {
      await platform.close();
    }
  }

  /** Kills the shard with SIGKILL, once it runs. Returns the id of its process, which has ended. */
  async killShard(name: string): Promise<number> {
    const look = (): number | undefined => this.service.processIds[`shard ${name}`];
    const pid = await until(`the supervisor did not start shard ${name}`, WITHIN_MS, look);
    process.kill(pid, 'SIGKILL');
    await until(`shard ${name} did not end`, WITHIN_MS, () => (isRunning(pid) ? undefined : true));
    return pid;
  }
}
