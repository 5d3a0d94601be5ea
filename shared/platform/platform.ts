/** Interface of a platform: messages, key-value buckets and event logs, of a cluster or of a standalone node. */
import type { Bucket } from '../bucket/bucket.js';
import type { BucketName } from '../bucket/buckets.js';
import type { NoteFile } from '../files/noteFile.js';
import type { EventLog, EventLogs, LogLosses } from '../log/eventLog.js';
import type { Transport } from '../transport/transport.js';
import type { VaultStore } from '../vault/vaultStore.js';

/** How full the store of a platform is: JetStream, or the disk of the data folder. */
export interface StoreRoom {
  /** Undefined if unknown: other programs write to the disk too. */
  readonly usedBytes: number | undefined;
  /** Undefined without a known limit. */
  readonly freeBytes: number | undefined;
}

/** A NATS server, as answered by itself. */
export interface NatsServerState {
  /** Null if it does not answer. */
  readonly name: string | null;
  /** Host and port. */
  readonly url: string;
  /** Null if it does not answer. */
  readonly version: string | null;
  /** Whether this process is connected to it. */
  readonly connected: boolean;
}

export interface Platform {
  readonly mode: 'cluster' | 'standalone';
  readonly transport: Transport;
  readonly logs: EventLogs;
  readonly losses: LogLosses;
  /**
   * Opens a bucket, and creates it if it does not exist. `ttlMs`: entries expire so long after their last write. Such a bucket
   * need not survive a restart.
   */
  bucket(name: BucketName, options?: { ttlMs?: number }): Promise<Bucket>;
  /** Opens a note that the next process of a standalone node can read. Absent in a cluster, where notes are entries of buckets. */
  localNote?(name: string): Promise<Pick<NoteFile, 'read' | 'write'>>;
  /** Opens the store of wrapped data keys; every call returns one store. */
  vault(): Promise<VaultStore>;
  /** Opens the log of the service; every call returns one log. */
  serviceLog(): Promise<EventLog>;
  /** How full the store is. Throws `unavailable`. */
  storeRoom(): Promise<StoreRoom>;
  /** Whether a write failed with this error because the store has no room for it, or cannot be written at all. */
  refusesWrites(error: Error): boolean;
  /** Names of opened streams, buckets or folders that no longer exist. Throws `unavailable`. */
  missing(): Promise<readonly string[]>;
  /** The configured NATS servers, and those that the connected one knows; an empty list for a standalone node. */
  natsServers(timeoutMs: number): Promise<readonly NatsServerState[]>;
  /** Completes the work in progress and closes everything. */
  close(): Promise<void>;
}
