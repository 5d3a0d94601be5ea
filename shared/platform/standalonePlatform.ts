/**
 * The platform of a standalone node: one process and one data folder.
 *
 * ```text
 * lock                         the process that uses the folder
 * collections/<id>/log/*.seg   event logs
 * service-log/0/log/*.seg      the log of the service
 * registry/<bucket>/*.json     buckets; those with a time to live are in memory
 * vault/<hex project>/<key>    wrapped data keys
 * ```
 */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bucket } from '../bucket/bucket.js';
import { BUCKETS, type BucketName } from '../bucket/buckets.js';
import { DirectoryBucket } from '../bucket/directory.js';
import { MemoryBucket } from '../bucket/memory.js';
import { type Clock, systemClock } from '../clock.js';
import { unavailable } from '../errors/errors.js';
import { closeDataFolder } from '../files/dataFolder.js';
import { codeOf, isThere, makeDirectory } from '../files/durable.js';
import { type FolderLock, lockFolder } from '../files/folderLock.js';
import { NoteFile } from '../files/noteFile.js';
import { type EventLog, type LogLosses, SERVICE_LOG_ID } from '../log/eventLog.js';
import { LocalLogs } from '../log/segments.js';
import type { Logger } from '../logger.js';
import { InProcessTransport } from '../transport/inProcess.js';
import { DirectoryVault } from '../vault/directoryVault.js';
import type { NatsServerState, Platform, StoreRoom } from './platform.js';

/** Intervals of looks: for writes of the key tool, and for files that an operator has put back. */
const KEYS_LOOK_MS = 200;
const LOOK_MS = 5_000;
/** Codes of the system: the disk is full, or the user's quota of it, or was made read-only after a fault. */
const REFUSING_DISK: readonly string[] = ['ENOSPC', 'EDQUOT', 'EROFS'];

interface StandaloneOptions {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** The size of the files of a log; by default that of `segments.ts`. */
  readonly segmentBytes?: number | undefined;
}

type OwnedBucket = Bucket & { close(): Promise<void> | void };

interface Opened {
  readonly ttlMs: number | undefined;
  readonly bucket: Promise<OwnedBucket>;
}

/** Throws an Error of one line if the folder cannot be written, is in use, or has a damaged entry. */
export async function openStandalone(options: StandaloneOptions): Promise<Platform> {
  const { dataDir, logger, clock = systemClock, segmentBytes } = options;
  const lock = await takeFolder(dataDir, logger);
  try {
    const folder = join(dataDir, 'collections');
    const logs = await LocalLogs.open({ folder, clock, ...(segmentBytes !== undefined && { segmentBytes }) });
    return new StandalonePlatform({ dataDir, logger, clock }, lock, logs);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * Opens a bucket of a data folder. The key tool opens the bucket of keys so. It needs no lock and may run beside the service, which
 * learns of its writes within half a second. Only the service and operators write other buckets. The caller closes it.
 */
export const openRegistryBucket = (options: StandaloneOptions, name: BucketName): Promise<DirectoryBucket> =>
  DirectoryBucket.open({
    ...options,
    folder: join(options.dataDir, 'registry', name),
    lookMs: name === BUCKETS.keys ? KEYS_LOOK_MS : LOOK_MS,
  });

/** Opens the vault of a data folder for a tool, which may run beside the service. */
export const openFolderVault = (dataDir: string, clock: Clock = systemClock): Promise<DirectoryVault> =>
  DirectoryVault.open({ folder: join(dataDir, 'vault'), clock });

async function takeFolder(dataDir: string, logger: Logger): Promise<FolderLock> {
  try {
    await makeDirectory(dataDir);
    const closed = await closeDataFolder(dataDir);
    if (closed !== undefined) logger.warn(closed);
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
  readonly losses: LogLosses;
  readonly #buckets = new Map<BucketName, Opened>();
  readonly #notes = new Map<string, Promise<NoteFile>>();
  #vault: Promise<DirectoryVault> | undefined;
  #serviceLog: Promise<{ readonly logs: LocalLogs; readonly log: EventLog }> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    private readonly options: Required<Omit<StandaloneOptions, 'segmentBytes'>>,
    private readonly lock: FolderLock,
    readonly logs: LocalLogs,
  ) {
    this.transport = new InProcessTransport(options);
    this.losses = logs;
  }

  async bucket(name: BucketName, { ttlMs }: { ttlMs?: number } = {}): Promise<Bucket> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    const opened = this.#buckets.get(name) ?? { ttlMs, bucket: this.#open(name, ttlMs) };
    if (opened.ttlMs !== ttlMs) throw new Error(`${name} is open with another time to live`);
    this.#buckets.set(name, opened);
    return opened.bucket;
  }

  async localNote(name: string): Promise<NoteFile> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    const path = join(this.options.dataDir, `${name}.note`);
    const note = this.#notes.get(path) ?? NoteFile.open(path);
    this.#notes.set(path, note);
    return note;
  }

  async vault(): Promise<DirectoryVault> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    const { dataDir, clock } = this.options;
    this.#vault ??= openFolderVault(dataDir, clock).catch((error: unknown) => {
      // The next call tries again.
      this.#vault = undefined;
      throw error;
    });
    return this.#vault;
  }

  async serviceLog(): Promise<EventLog> {
    if (this.#closing !== undefined) throw unavailable('the platform is closed');
    this.#serviceLog ??= this.#openServiceLog().catch((error: unknown) => {
      this.#serviceLog = undefined;
      throw error;
    });
    return (await this.#serviceLog).log;
  }

  async #openServiceLog(): Promise<{ readonly logs: LocalLogs; readonly log: EventLog }> {
    const { dataDir, clock } = this.options;
    const logs = await LocalLogs.open({ folder: join(dataDir, 'service-log'), clock });
    return { logs, log: await logs.open(SERVICE_LOG_ID) };
  }

  async storeRoom(): Promise<StoreRoom> {
    const { bavail, bsize } = await statfs(this.options.dataDir);
    return { usedBytes: undefined, freeBytes: bavail * bsize };
  }

  refusesWrites(error: Error): boolean {
    return REFUSING_DISK.includes(codeOf(error) ?? '');
  }

  async missing(): Promise<string[]> {
    const lasting = [...this.#buckets].filter(([, { ttlMs }]) => ttlMs === undefined);
    const folders = [
      ...['collections', ...lasting.map(([name]) => join('registry', name))],
      ...(this.#vault === undefined ? [] : ['vault']),
    ];
    const there = await Promise.all(folders.map((folder) => isThere(join(this.options.dataDir, folder))));
    return folders.filter((_, i) => !there[i]);
  }

  async natsServers(): Promise<readonly NatsServerState[]> {
    return [];
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #open(name: BucketName, ttlMs: number | undefined): Promise<OwnedBucket> {
    return ttlMs === undefined ? openRegistryBucket(this.options, name) : new MemoryBucket({ ...this.options, ttlMs });
  }

  async #close(): Promise<void> {
    await this.transport.close();
    await this.logs.close();
    await this.#serviceLog?.then(({ logs }) => logs.close()).catch(() => undefined);
    for (const { bucket } of this.#buckets.values())
      await bucket.then((opened) => opened.close()).catch(() => undefined);
    for (const note of this.#notes.values()) await note.then((opened) => opened.close()).catch(() => undefined);
    await this.#vault?.then((vault) => vault.close()).catch(() => undefined);
    await this.lock.release();
  }
}
