// Covers: shared/bucket/directory.ts, shared/bucket/memory.ts, shared/log/segments.ts, shared/transport/inProcess.ts
/** The logs, buckets and transport of the standalone platform, in the test suites that the cluster's pass too. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DirectoryBucket } from '../../../../shared/bucket/directory.js';
import { MemoryBucket } from '../../../../shared/bucket/memory.js';
import { LocalLogs, type LocalLogsOptions } from '../../../../shared/log/segments.js';
import { silentLogger } from '../../../../shared/logger.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import type { BucketStore } from '../../../support/suites/bucketStore.js';
import { bucketSuite } from '../../../support/suites/bucketSuite.js';
import type { LogStorage } from '../../../support/suites/eventLogFrames.js';
import { eventLogSuite } from '../../../support/suites/eventLogSuite.js';
import { type TransportPair, transportSuite } from '../../../support/suites/transportSuite.js';

const logger = silentLogger;
const freshFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'vouch-local-'));
const erase = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true });

async function logStorage(options: Partial<LocalLogsOptions> = {}): Promise<LogStorage> {
  const folder = await freshFolder();
  const open = (): Promise<LocalLogs> => LocalLogs.open({ folder, ...options });
  let logs = await open();
  return {
    logs,
    restart: async () => {
      await logs.close();
      logs = await open();
      return logs;
    },
    dispose: async () => {
      await logs.close();
      await erase(folder);
    },
  };
}

async function directoryStore(): Promise<BucketStore> {
  const folder = await freshFolder();
  let bucket = await DirectoryBucket.open({ folder, logger, lookMs: 200 });
  return {
    bucket,
    restart: async () => {
      await bucket.close();
      bucket = await DirectoryBucket.open({ folder, logger, lookMs: 200 });
      return bucket;
    },
    close: () => bucket.close(),
    dispose: async () => {
      await bucket.close();
      await erase(folder);
    },
  };
}

async function memoryStore(options: { readonly ttlMs?: number }): Promise<BucketStore> {
  const bucket = new MemoryBucket({ logger, ...options });
  return { bucket, close: async () => bucket.close(), dispose: async () => bucket.close() };
}

async function transportPair(): Promise<TransportPair> {
  const transport = new InProcessTransport({ logger });
  const close = (): Promise<void> => transport.close();
  return { client: transport, server: transport, closeClient: close, dispose: close };
}

eventLogSuite('local segments', () => logStorage());
eventLogSuite('local segments of a few frames, and few open files', () =>
  logStorage({ segmentBytes: 2_000, openFilesMax: 3 }),
);
bucketSuite('directory', directoryStore, { lasting: true, ttl: false });
bucketSuite('memory', memoryStore, { lasting: false, ttl: true });
transportSuite('in process', transportPair);
