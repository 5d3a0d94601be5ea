/** A shard: in a process of its own, or beside the coordinator in standalone mode. */
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import type { Bucket } from '../shared/bucket/bucket.js';
import { BUCKETS } from '../shared/bucket/buckets.js';
import { type Clock, systemClock, systemEntropy, systemId } from '../shared/clock.js';
import { messageOf } from '../shared/errors/errors.js';
import { closeDataFolder } from '../shared/files/dataFolder.js';
import { makeDirectory } from '../shared/files/durable.js';
import { toHex } from '../shared/hashing/hash.js';
import type { Logger } from '../shared/logger.js';
import { Metrics } from '../shared/metrics/metrics.js';
import { observeProcess } from '../shared/metrics/processMetrics.js';
import type { StartProcess } from '../shared/platform/clusterProcess.js';
import type { Platform } from '../shared/platform/platform.js';
import { systemMemoryBytes } from '../shared/process/memoryLimit.js';
import { onStall } from '../shared/process/stalls.js';
import { whenAvailable } from '../shared/process/startUp.js';
import { untilOneVersion } from '../shared/protocol/version.js';
import { noteInBucket, noteInFile } from '../shared/registry/openings.js';
import { shardOf } from '../shared/registry/owners.js';
import { Reservations } from '../shared/registry/reservations.js';
import { earlierKeysOf, registerSigner } from '../shared/registry/signers.js';
import { openSigner, type Signer } from '../shared/signing/signer.js';
import { ShredNotes } from '../shared/vault/shredNotes.js';
import { Lease } from './answering/lease.js';
import { AsOfThread } from './asOf/asOfThread.js';
import { countMeasured } from './asOf/measured.js';
import { CallAdmission } from './capacity/admission.js';
import { DamageReports } from './capacity/damageReports.js';
import { MemoryGuard, processMemory } from './capacity/memoryGuard.js';
import { Quota } from './capacity/quota.js';
import { StoreGuard } from './capacity/storeGuard.js';
import type { CollectionContext } from './collection/collectionContext.js';
import type { CollectionHandle } from './collection/collectionHandle.js';
import { WatermarkNotes } from './collection/watermarkNotes.js';
import { Absorber } from './index/absorber.js';
import { BuildThread } from './index/builds/buildThread.js';
import { DesiredSpecs } from './index/desiredSpecs.js';
import { SEARCH_PROGRAM } from './index/searchProgram.js';
import type { IndexServices } from './index/services.js';
import { GenerationStore } from './index/store/generationStore.js';
import { ScanThreads, threadsOf } from './kernel/scanThreads.js';
import { VectorMemory } from './kernel/vectorMemory.js';
import { DueRemovals } from './node/dueRemovals.js';
import { EventTimes } from './node/eventTimes.js';
import { PendingShreds } from './node/pendingShreds.js';
import { ShardNode } from './node/shardNode.js';
import { VaultCheck } from './node/vaultCheck.js';
import { OpeningNotes } from './opening/openingNotes.js';
import { OpeningSteps } from './opening/openingSteps.js';
import { Openings } from './opening/openings.js';
import { ReadThreads } from './snapshot/readThreads.js';
import { type SnapshotServices, snapshotServices } from './snapshot/snapshotServices.js';
import { SnapshotStore } from './snapshot/snapshotStore.js';
import { DataKeys } from './vault/dataKeys.js';
import { RecordVault } from './vault/recordVault.js';
import { VaultCalls } from './vault/vaultCalls.js';

export interface ShardOptions {
  readonly config: Config;
  /** Name of the shard. Collections belong to it, so it must stay the same across restarts. */
  readonly name: string;
  readonly platform: Platform;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Called when another process runs under this name. This process has stopped answering then. */
  readonly onTakenOver?: () => void;
}

export interface RunningShard {
  /** Number of its collections, and of their live records as far as known. */
  status(): { readonly collections: number; readonly records: number };
  /** Resolves when its collections have moved to other shards, or none will move any more. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

type Opening = ShardOptions & { readonly clock: Clock };
/** A start of the shard, with the name of its process. */
type Session = Opening & { readonly session: string; readonly metrics: Metrics };

export async function runShard(options: ShardOptions): Promise<RunningShard> {
  const { config, name, platform, logger, clock = systemClock } = options;
  const opening: Opening = { ...options, clock };
  const { leaseMs, drainTimeoutMs } = config.placement;
  const [shards, owners, quotas, watermarks, openings] = await Promise.all([
    platform.bucket(BUCKETS.shards, { ttlMs: leaseMs }),
    platform.bucket(BUCKETS.owners),
    platform.bucket(BUCKETS.quota),
    platform.bucket(BUCKETS.watermarks),
    platform.bucket(BUCKETS.openings),
  ]);
  const signer = await openListedSigner(opening);
  const metrics = new Metrics('shard', name);
  const session: Session = { ...opening, metrics, session: systemId() };
  const damages = new DamageReports();
  const admission = admissionOf(opening, metrics);
  const memory = openVectorMemory(opening, metrics);
  const guards = guardsOf(opening, admission, memory);
  const indexes = await openIndexes(opening, metrics, damages, guards.memoryGuard);
  const snapshots = await openSnapshots(opening, metrics, damages);
  const pasts = openAsOfThread(opening, metrics, snapshots.store);
  const { keys, vaultCalls, records, shreds, check } = await openVault({ ...opening, signer }, damages, pasts, () =>
    node.collections(),
  );
  const notes = await notesOf(session, { openings, shards, owners }, guards.memoryGuard, () => node);
  const lease = leaseOf(session, shards, notes, () => node);
  const turns = new Openings(notes, lease, clock);
  const removals = await removalsOf(opening, { openings, turns, lease }, () => node);
  const context: CollectionContext = {
    admission,
    openings: turns,
    logs: platform.logs,
    watermarks: new WatermarkNotes(watermarks, () => lease.valid, { metrics, logger }),
    transport: platform.transport,
    ...{ memory, ...guards, removals },
    quota: new Quota(new Reservations(quotas, config.limits), platform.transport, clock, logger),
    vault: records,
    ...{ indexes, pasts, snapshots, damages, signer, metrics, clock, logger },
    ...{ limits: config.limits, dedupWindow: config.limits.dedupWindow },
  };
  const node: ShardNode = new ShardNode({
    ...{ shard: name, owners, context, lease, onServing: () => void shreds.sweep() },
    losses: platform.losses,
    vaultCalls,
    staleMs: config.followers.staleMs,
  });
  const eventTimes = new EventTimes(() => node.collections(), clock, logger);
  const endObserving = observeNode(node, context, lease, eventTimes);
  await guards.storeGuard.start(quotas);
  const endNotes = await startNotes(opening, notes);
  await node.start();
  await Promise.all([shreds.start(), removals.start()]);
  check.start();
  eventTimes.start();
  logger.info({ shard: name, collections: node.load.collections }, 'ready');
  const stop = async (): Promise<void> => {
    await Promise.all([check.stop(), removals.stop()]);
    await shreds.stop();
    await node.stop();
    await endNotes();
    await guards.storeGuard.stop();
    await Promise.all([eventTimes.stop(), indexes.builds.close(), pasts.end(), snapshots.threads.close()]);
    await memory.threads?.close();
    // No record can be decrypted any more.
    keys.close();
    endObserving();
  };
  return { status: () => node.load, leave: () => node.leave(shards, drainTimeoutMs), stop };
}

const admissionOf = ({ config, clock }: Opening, metrics: Metrics): CallAdmission =>
  new CallAdmission(config.limits.maxQueueWaitMs, clock, (reason) => metrics.count('vouch_refused_total', { reason }));

async function removalsOf(
  { platform, clock, logger }: Opening,
  { openings: bucket, turns, lease }: { readonly openings: Bucket; readonly turns: Openings; readonly lease: Lease },
  node: () => ShardNode,
): Promise<DueRemovals> {
  const catalog = await platform.bucket(BUCKETS.catalog);
  const owned = (id: number): CollectionHandle | undefined => node().owned(id);
  return new DueRemovals({ bucket, catalog, openings: turns, owned, mayAnswer: () => lease.valid, clock, logger });
}

function openVectorMemory({ config, logger }: Opening, metrics: Metrics): VectorMemory {
  // Count by hand, since a small search takes little longer than a call of the metrics.
  const scans = { loop: 0, threads: 0 };
  const searches = { loop: 0, threads: 0 };
  const onScan = (where: keyof typeof scans): void => void scans[where]++;
  const onSearches = (where: keyof typeof searches, count: number): void => {
    searches[where] += count;
  };
  metrics.onRead(() => {
    for (const where of ['loop', 'threads'] as const) {
      metrics.count('vouch_exact_scans_total', { where }, scans[where]);
      metrics.count('vouch_index_searches_total', { where }, searches[where]);
      scans[where] = 0;
      searches[where] = 0;
    }
  });
  const threads = new ScanThreads(
    { count: threadsOf(config.searchThreads), logger, onScan, onSearches },
    SEARCH_PROGRAM,
  );
  return new VectorMemory({ threads });
}

function guardsOf(
  { config, platform, clock, logger }: Opening,
  admission: CallAdmission,
  memory: VectorMemory,
): Pick<CollectionContext, 'memoryGuard' | 'storeGuard'> {
  const { memoryBytes, storeBytes: limitBytes } = config.limits;
  return {
    memoryGuard: new MemoryGuard({
      limitBytes: memoryBytes || systemMemoryBytes(),
      // A message in flight is already in memory, and its content will be kept once more.
      read: () => processMemory(() => admission.bytes - memory.freeBytes),
      refusal: () => admission.refusal('memory'),
      clock,
      logger,
    }),
    storeGuard: new StoreGuard({ limitBytes, store: platform, clock, logger }),
  };
}

function leaseOf(opening: Session, shards: Bucket, notes: OpeningNotes, node: () => ShardNode): Lease {
  const { config, name, session, metrics, clock, logger } = opening;
  const { heartbeatMs, leaseMs } = config.placement;
  const onRegain = (): Promise<void> => {
    metrics.count('vouch_lease_lapses_total');
    notes.leaseRegained().catch((error: unknown) => {
      logger.warn({ error: messageOf(error) }, 'the reason for the expired lease could not be noted');
    });
    return node().confirmOwned();
  };
  const onTakenOver = (): void => {
    logger.error({ shard: name }, 'another process runs under this name; this one has stopped answering');
    opening.onTakenOver?.();
  };
  const load = (): ShardNode['load'] => node().load;
  return new Lease(shards, { shard: name, session, heartbeatMs, leaseMs, load, onRegain, onTakenOver }, clock, logger);
}

async function notesOf(
  { config, name: shard, session, platform, metrics, clock, logger }: Session,
  buckets: { readonly openings: Bucket; readonly shards: Bucket; readonly owners: Bucket },
  memory: MemoryGuard,
  node: () => ShardNode,
): Promise<OpeningNotes> {
  const { leaseMs } = config.placement;
  const file = await platform.localNote?.('openings');
  const onFailure = (error: unknown): void =>
    logger.warn({ error: messageOf(error) }, 'the openings in progress could not be noted');
  const path = join(config.dataDir, `opening-${Buffer.from(shard).toString('hex')}.note`);
  const steps = await OpeningSteps.open(path, { session, memory, onFailure });
  const options = {
    ...{ shard, session, leaseMs, transport: platform.transport, metrics, clock, logger },
    ...{ ...buckets, steps },
    note: file === undefined ? noteInBucket(buckets.openings, shard) : noteInFile(file, onFailure),
  };
  return new OpeningNotes(options, (id) => node().checkFailedOpenings(id));
}

/** Starts the notes. The returned function ends them, and leaves none behind. */
async function startNotes({ clock, logger }: Opening, notes: OpeningNotes): Promise<() => Promise<void>> {
  await whenAvailable('the openings', () => notes.start(), { clock, logger });
  const endStalls = onStall((stall) => notes.stalled(stall));
  return async () => {
    endStalls();
    await notes.stop();
  };
}

function observeNode(node: ShardNode, context: CollectionContext, lease: Lease, eventTimes: EventTimes): () => void {
  const { metrics, memory, damages, admission, memoryGuard, storeGuard } = context;
  metrics.gauges(() => ({
    ...node.gauges(),
    ...node.following.gauges(),
    vouch_vector_bytes: memory.usedBytes,
    vouch_search_threads: memory.threads?.running ?? 0,
    vouch_memory_used_bytes: memoryGuard.usedBytes,
    vouch_memory_limit_bytes: memoryGuard.limitBytes,
    vouch_store_used_bytes: storeGuard.usedBytes,
    vouch_store_limit_bytes: storeGuard.limitBytes,
    vouch_full: { memory: Number(memoryGuard.isFull), store: Number(storeGuard.isFull) },
    vouch_events_ahead_seconds: eventTimes.aheadSeconds,
    vouch_reads_waiting: admission.readsWaiting,
    vouch_shard_calls_in_flight: admission.calls,
    vouch_shard_call_bytes_in_flight: admission.bytes,
    vouch_damaged: damages.counts(),
    vouch_lease_left_seconds: lease.leftMs / 1000,
    vouch_draining: Number(node.isLeaving),
  }));
  return observeProcess(metrics, context.transport);
}

/** Opens the signing key, and adds its public key to the list of signers. */
async function openListedSigner({ config, name, platform, clock, logger }: Opening): Promise<Signer> {
  const signer = await openSigner(config.signingKeyFile);
  const signers = await platform.bucket(BUCKETS.signers);
  const publicKey = toHex(signer.publicKey);
  const register = (): Promise<boolean> => registerSigner(signers, publicKey, name, clock);
  const isNew = await whenAvailable('the list of signers', register, { clock, logger });
  const before = isNew ? await earlierKeysOf(signers, publicKey, name) : [];
  if (before.length > 0)
    logger.warn(
      { publicKey, before, file: config.signingKeyFile },
      'checkpoints are signed with another key than before; unless the signing key was replaced, its file was lost or ' +
        'damaged: put it back from a copy, and start again',
    );
  return signer;
}

async function openIndexes(
  { config, name, platform, logger, clock }: Opening,
  metrics: Metrics,
  damages: DamageReports,
  memoryGuard: MemoryGuard,
): Promise<IndexServices> {
  return {
    store: await GenerationStore.open(folderOf('indexes', config, name), logger, (damage) => {
      metrics.count('vouch_index_damaged_total');
      damages.report({ ...damage, part: 'index' });
    }),
    builds: new BuildThread({ clock, logger, metrics, hasRoom: () => !memoryGuard.isFull }),
    absorber: new Absorber(clock, logger),
    desired: new DesiredSpecs(await platform.bucket(BUCKETS.catalog)),
    metrics,
    clock,
    logger,
  };
}

async function openVault(
  { config, platform, logger, clock, signer }: Opening & { readonly signer: Signer },
  damages: DamageReports,
  { calls }: AsOfThread,
  handles: () => Iterable<CollectionHandle>,
): Promise<{ keys: DataKeys; vaultCalls: VaultCalls; records: RecordVault; shreds: PendingShreds; check: VaultCheck }> {
  const [vault, bucket, catalog] = await Promise.all([
    platform.vault(),
    platform.bucket(BUCKETS.shreds),
    platform.bucket(BUCKETS.catalog),
  ]);
  const notes = new ShredNotes(bucket, clock);
  const keys = await DataKeys.open({ vault, masterKeyFile: config.masterKeyFile, logger });
  return {
    keys,
    vaultCalls: new VaultCalls(vault, signer, clock),
    records: new RecordVault(vault, notes, keys, { clock, entropy: systemEntropy }),
    shreds: new PendingShreds({ vault, notes, catalog, handles, clock, logger }),
    check: new VaultCheck({ vault, keys, damages, handles, calls, clock, logger }),
  };
}

async function openSnapshots(
  { config, name, logger, clock }: Opening,
  metrics: Metrics,
  damages: DamageReports,
): Promise<SnapshotServices> {
  const { everyBytes, keep } = config.snapshots;
  return snapshotServices({
    store: await SnapshotStore.open(folderOf('snapshots', config, name), keep, logger, (damage) =>
      damages.report({ ...damage, part: 'snapshot' }),
    ),
    threads: new ReadThreads(),
    metrics,
    clock,
    logger,
    everyBytes,
  });
}

function openAsOfThread({ config, logger, clock }: Opening, metrics: Metrics, store: SnapshotStore): AsOfThread {
  return new AsOfThread({
    cacheBytesMax: config.limits.asOfCacheBytes,
    clock,
    logger,
    measured: (what) => countMeasured(metrics, what),
    onSetAside: ({ id }, snapshot) => store.wasSetAside(id, { ...snapshot }),
  });
}

/**
 * Returns a folder for this shard only. Its name is hex, as a shard's name may have characters that a folder's may not.
 */
const folderOf = (kind: 'indexes' | 'snapshots', { dataDir }: Config, shard: string): string =>
  join(dataDir, kind, Buffer.from(shard).toString('hex'));

/** A shard as a process of a cluster. */
export const shardProcess =
  ({ config, name, logger }: Pick<ShardOptions, 'config' | 'name' | 'logger'>): StartProcess =>
  async (platform, end) => {
    await makeDirectory(config.dataDir);
    const closed = await closeDataFolder(config.dataDir);
    if (closed !== undefined) logger.warn(closed);
    const shards = await platform.bucket(BUCKETS.shards, { ttlMs: config.placement.leaseMs });
    await untilOneVersion(shards, shardOf, { clock: systemClock, logger });
    const shard = await runShard({ config, name, platform, logger, onTakenOver: () => end(1) });
    return {
      description: 'owns collections: log, audit, state, search',
      serves: ['read', 'write', 'control', 'eventual', 'follower', 'named'],
      metadata: { shard: name },
      status: async () => shard.status(),
      leave: () => shard.leave(),
      stop: () => shard.stop(),
    };
  };
