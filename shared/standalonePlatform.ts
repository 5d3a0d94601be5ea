/**
 * The platform of a node that stands alone: everything in one process and one data folder.
 *
 *   lock                         the process that has the folder
 *   collections/<id>/log/*.seg   event logs
 *   registry/<bucket>/*.json     buckets; those with a time to live are in memory
 *   vault/<hex project>/<key>    wrapped data keys
 */
import { join } from 'node:path';
import type { Bucket } from './bucket/bucket.js';
import { DirectoryBucket } from './bucket/directory.js';
import { MemoryBucket } from './bucket/memory.js';
import { type Clock, systemClock } from './clock.js';
import { codeOf, makeDirectory } from './durable.js';
import { unavailable } from './errors.js';
import { type FolderLock, lockFolder } from './folderLock.js';
import { LocalLogs } from './log/segments.js';
import type { Logger } from './logger.js';
import type { BucketName, Platform } from './platform.js';
import { InProcessTransport } from './transport/inProcess.js';
import { DirectoryVault } from './vault/directoryVault.js';

export interface StandaloneOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

type OwnedBucket = Bucket & { close(): Promise<void> | void };

interface Opened {
  readonly ttlMs: number | undefined;
  readonly bucket: Promise<OwnedBucket>;
}

/** Throws an Error of one line where the folder cannot be written, is in use, or holds a damaged entry. */
export async function openStandalone(options: StandaloneOptions): Promise<Platform> {
  const { dataDir, logger, clock = systemClock } = options;
  const lock = await takeFolder(dataDir);
  try {
    const logs = await LocalLogs.open({ folder: join(dataDir, 'collections'), clock });
    return new StandalonePlatform({ dataDir, logger, clock }, lock, logs);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * A lasting bucket of a data folder, for a tool that runs beside the service or without it; the folder's lock is not
 * needed. What it writes is known to the service within half a second. Close it.
 */
export const openRegistryBucket = (options: StandaloneOptions, name: BucketName): Promise<DirectoryBucket> =>
  DirectoryBucket.open({ ...options, folder: join(options.dataDir, 'registry', name) });

/** The vault of a data folder, likewise. Close it. */
export const openFolderVault = (dataDir: string, clock: Clock = systemClock): Promise<DirectoryVault> =>
  DirectoryVault.open({ folder: join(dataDir, 'vault'), clock });

async function takeFolder(dataDir: string): Promise<FolderLock> {
  try {
    await makeDirectory(dataDir);
    return await lockFolder(dataDir);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new Error(`the data folder ${dataDir} cannot be written (${code}); set VOUCH_DATA_DIR to one that can`, {
      cause: error,
    });
  }
}

class StandalonePlatform implements Platform {
  readonly mode = 'standalone';
  readonly transport: InProcessTransport;
  readonly #buckets = new Map<BucketName, Opened>();
  #vault: Promise<DirectoryVault> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly options: Required<StandaloneOptions>,
    private readonly lock: FolderLock,
    readonly logs: LocalLogs,
  ) {
    this.transport = new InProcessTransport(options);
  }

  async bucket(name: BucketName, { ttlMs }: { ttlMs?: number } = {}): Promise<Bucket> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    const opened = this.#buckets.get(name) ?? { ttlMs, bucket: this.#open(name, ttlMs) };
    if (opened.ttlMs !== ttlMs) throw new Error(`${name} is open with another time to live`);
    this.#buckets.set(name, opened);
    return opened.bucket;
  }

  async vault(): Promise<DirectoryVault> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    this.#vault ??= this.#openVault();
    return this.#vault;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(name: BucketName, ttlMs: number | undefined): Promise<OwnedBucket> {
    return ttlMs === undefined ? openRegistryBucket(this.options, name) : new MemoryBucket({ ...this.options, ttlMs });
  }

  async #openVault(): Promise<DirectoryVault> {
    try {
      return await openFolderVault(this.options.dataDir, this.options.clock);
    } catch (error) {
      // The next who asks tries again.
      this.#vault = undefined;
      throw error;
    }
  }

  async #close(): Promise<void> {
    await this.transport.close();
    await this.logs.close();
    for (const { bucket } of this.#buckets.values())
      await bucket.then((opened) => opened.close()).catch(() => undefined);
    await this.#vault?.then((vault) => vault.close()).catch(() => undefined);
    await this.lock.release();
  }
}
