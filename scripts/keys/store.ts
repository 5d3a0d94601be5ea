/** Opens the keys and the vault of a running cluster, or in the files of a data folder. */
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { BUCKETS, type BucketName } from '../../shared/bucket/buckets.js';
import type { DirectoryBucket } from '../../shared/bucket/directory.js';
import { isThere } from '../../shared/files/durable.js';
import { silentLogger } from '../../shared/logger.js';
import type { NatsRole } from '../../shared/nats/roles.js';
import { type ClusterPlatform, openCluster } from '../../shared/platform/natsPlatform.js';
import { openFolderVault, openRegistryBucket } from '../../shared/platform/standalonePlatform.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import { prepareStore } from '../local/natsServer/prepareStore.js';
import { localNats } from '../local/natsServer/users.js';
import { nothingRunsOn, readRuntime } from '../local/supervisor/runtimeFile.js';
import { commandText } from '../terminal/commandLine.js';

export interface KeyStore {
  keys(): Promise<Bucket>;
  openings(): Promise<Bucket>;
  vault(): Promise<VaultStore>;
  close(): Promise<void>;
}

const CONNECT_WITHIN_MS = 5_000;

/**
 * `role`: the role at the NATS servers of a cluster; coordinators have access to the keys, shards to the vault. Throws an Error of
 * one line without a running service or its data folder.
 */
export async function openKeyStore(config: Config, role: NatsRole): Promise<KeyStore> {
  const runtime = config.nats.url === null ? await readRuntime(config.dataDir) : undefined;
  const natsUrl = config.nats.url ?? runtime?.natsUrl ?? null;
  if (config.mode === 'cluster' && natsUrl !== null) {
    const platform = await openAs(role, config, natsUrl);
    return {
      keys: () => platform.bucket(BUCKETS.keys),
      openings: () => platform.bucket(BUCKETS.openings),
      vault: () => platform.vault(),
      close: () => platform.close(),
    };
  }
  if (config.mode === 'standalone' || runtime?.mode === 'standalone' || (await isStandalone(config.dataDir)))
    return openInFolder(config.dataDir);
  throw await nothingRunsOn(
    config.dataDir,
    `run ${commandText('start')} first, or set VOUCH_NATS_URL or VOUCH_DATA_DIR`,
  );
}

/** Makes the streams and buckets of a cluster, or gives them the configured times. Throws an Error of one line. */
export async function makeStreams(config: Config): Promise<void> {
  const url = config.nats.url ?? (await readRuntime(config.dataDir))?.natsUrl ?? null;
  if (url === null) throw new Error('only a cluster has streams; set VOUCH_NATS_URL to its NATS servers');
  const platform = await openAs('admin', config, url);
  await prepareStore(platform, config.placement.leaseMs).finally(() => platform.close());
}

async function openAs(role: NatsRole, config: Config, url: string): Promise<ClusterPlatform> {
  const options = { name: 'vouch-keys', logger: silentLogger, connectWithinMs: CONNECT_WITHIN_MS };
  return openCluster({ ...(await localNats(config, url, role)), ...options });
}

async function openInFolder(dataDir: string): Promise<KeyStore> {
  const buckets = new Map<BucketName, Promise<DirectoryBucket>>();
  const bucketOf = (name: BucketName): Promise<DirectoryBucket> => {
    const bucket = buckets.get(name) ?? openRegistryBucket({ dataDir, logger: silentLogger }, name);
    buckets.set(name, bucket);
    return bucket;
  };
  await bucketOf(BUCKETS.keys);
  let vault: Promise<VaultStore> | undefined;
  return {
    keys: () => bucketOf(BUCKETS.keys),
    openings: () => bucketOf(BUCKETS.openings),
    vault: () => (vault ??= openFolderVault(dataDir)),
    close: async () => {
      await (await vault)?.close();
      for (const bucket of buckets.values()) await (await bucket).close();
    },
  };
}

/** Whether the folder belongs only to a standalone service. The keys of a cluster are in its NATS servers. */
const isStandalone = async (dataDir: string): Promise<boolean> =>
  (await isThere(join(dataDir, 'registry'))) && !(await isThere(join(dataDir, 'nats')));
