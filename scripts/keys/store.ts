/** Finds the keys, and the vault: of the cluster that runs, or in the files of a data folder. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../../config/config.js';
import type { Bucket } from '../../shared/bucket/bucket.js';
import { silentLogger } from '../../shared/logger.js';
import { openCluster } from '../../shared/natsPlatform.js';
import { BUCKETS } from '../../shared/platform.js';
import { openFolderVault, openRegistryBucket } from '../../shared/standalonePlatform.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import { nothingRunsOn, readRuntime } from '../supervisor/runtimeFile.js';

export interface KeyStore {
  readonly bucket: Bucket;
  vault(): Promise<VaultStore>;
  close(): Promise<void>;
}

const CONNECT_WITHIN_MS = 5_000;

/** Throws an Error of one line where there is neither a running service nor a data folder of one. */
export async function openKeyStore(config: Config): Promise<KeyStore> {
  const runtime = config.nats.url === null ? await readRuntime(config.dataDir) : undefined;
  const natsUrl = config.nats.url ?? runtime?.natsUrl ?? null;
  if (config.mode === 'cluster' && natsUrl !== null) return openInCluster(config, natsUrl);
  if (config.mode === 'standalone' || runtime?.mode === 'standalone' || (await hasStoodAlone(config.dataDir)))
    return openInFolder(config.dataDir);
  throw await nothingRunsOn(config.dataDir, 'run npm start first, or set VOUCH_NATS_URL or VOUCH_DATA_DIR');
}

async function openInCluster(config: Config, url: string): Promise<KeyStore> {
  const { replicas, logStreams } = config.nats;
  const options = { url, name: 'vouch-keys', logger: silentLogger, replicas, logStreams };
  const platform = await openCluster({ ...options, connectWithinMs: CONNECT_WITHIN_MS });
  return {
    bucket: await platform.bucket(BUCKETS.keys),
    vault: () => platform.vault(),
    close: () => platform.close(),
  };
}

async function openInFolder(dataDir: string): Promise<KeyStore> {
  const bucket = await openRegistryBucket({ dataDir, logger: silentLogger }, BUCKETS.keys);
  let vault: Promise<VaultStore> | undefined;
  return {
    bucket,
    vault: () => (vault ??= openFolderVault(dataDir)),
    close: async () => {
      await (await vault)?.close();
      await bucket.close();
    },
  };
}

/** A folder that only ever held a node of its own; a cluster's keys are in its NATS server, which does not run. */
async function hasStoodAlone(dataDir: string): Promise<boolean> {
  const exists = (name: string): Promise<boolean> =>
    access(join(dataDir, name)).then(
      () => true,
      () => false,
    );
  return (await exists('registry')) && !(await exists('nats'));
}
