/** A shard: in a process of its own (`node dist/shard/main.js --name s1`), or beside the coordinator in standalone mode. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../config/config.js';
import { loadConfigOrExit } from '../config/load.js';
import { type Clock, systemClock, systemEntropy } from '../shared/clock.js';
import { toHex } from '../shared/hash.js';
import { type Logger, makeLogger } from '../shared/logger.js';
import { openCluster } from '../shared/natsPlatform.js';
import { registerService } from '../shared/natsService.js';
import type { Heartbeat } from '../shared/owners.js';
import { BUCKETS, type Platform } from '../shared/platform.js';
import { runProcess } from '../shared/process.js';
import { readProcessFlagsOrExit } from '../shared/processFlags.js';
import { Reservations } from '../shared/reservations.js';
import { earlierKeysOf, registerSigner } from '../shared/signers.js';
import { START_WITHIN_MS, whenAvailable } from '../shared/startUp.js';
import { statusSubject } from '../shared/subjects.js';
import { ShredMarks } from '../shared/vault/shredMarks.js';
import { version } from '../shared/version.js';
import { Admission } from './admission.js';
import { ReachNotes } from './collection/reachNotes.js';
import { DamageReports } from './damageReports.js';
import { PendingShreds } from './encrypted/pendingShreds.js';
import { RecordVault } from './encrypted/recordVault.js';
import { VaultCheck } from './encrypted/vaultCheck.js';
import type { HostedCollection } from './hostedCollection.js';
import { Absorber } from './index/absorber.js';
import { BuildThread } from './index/build/buildThread.js';
import { DesiredSpecs } from './index/desiredSpecs.js';
import type { IndexServices } from './index/services.js';
import { GenerationStore } from './index/store/generationStore.js';
import { VectorMemory } from './kernel/vectorMemory.js';
import { Lease } from './lease.js';
import { ShardMetrics } from './metrics.js';
import { Openings } from './openings.js';
import { takeOwnName } from './ownName.js';
import type { CallCount } from './past/checkPace.js';
import { PastThread } from './past/pastThread.js';
import { openSigner, type Signer } from './proof/signer.js';
import { Quota } from './quota.js';
import { ShardNode } from './shardNode.js';
import { ReadThreads } from './snapshot/readThreads.js';
import { SnapshotServices } from './snapshot/snapshotServices.js';
import { SnapshotStore } from './snapshot/snapshotStore.js';
import { DataKeys } from './vault/dataKeys.js';

export interface ShardOptions {
  readonly config: Config;
  /** Stays the same over restarts: collections belong to the name. */
  readonly name: string;
  readonly platform: Platform;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Another process runs under the same name; this one has stopped answering. */
  readonly onTakenOver?: () => void;
}

export interface RunningShard {
  /** Collections it serves, and the live records known of them. */
  status(): { readonly collections: number; readonly records: number };
  /** Has its collections moved to other shards first. Resolves when none is left, or none will move any more. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

export async function runShard(options: ShardOptions): Promise<RunningShard> {
  const { config, name, platform, logger, clock = systemClock } = options;
  const { heartbeatMs, leaseMs } = config.placement;
  const [shards, owners, quotas, reached] = await Promise.all([
    platform.bucket(BUCKETS.shards, { ttlMs: leaseMs }),
    platform.bucket(BUCKETS.owners),
    platform.bucket(BUCKETS.quota),
    platform.bucket(BUCKETS.reached),
  ]);
  const signer = await openListedSigner({ ...options, clock });
  const memory = new VectorMemory();
  const metrics = new ShardMetrics();
  const damages = new DamageReports();
  const indexes = await openIndexes({ ...options, clock }, metrics, damages);
  const snapshots = await openSnapshots({ ...options, clock }, metrics, damages);
  const pasts = openPasts({ ...options, clock }, metrics, snapshots.store);
  const vault = await openVault({ ...options, clock }, damages, pasts.calls, () => node.collections());
  const quota = new Quota(new Reservations(quotas, config.limits.maxRecords), platform.transport, clock, logger);
  const load = (): Omit<Heartbeat, 'session'> => node.load;
  const onRegain = (): Promise<void> => {
    metrics.moves.leaseLapsed();
    return node.confirmOwned();
  };
  const onTakenOver = (): void => {
    logger.error({ shard: name }, 'another process runs under this name; this one has stopped answering');
    options.onTakenOver?.();
  };
  const lease = new Lease(
    shards,
    { shard: name, session: randomUUID(), heartbeatMs, leaseMs, load, onRegain, onTakenOver },
    clock,
    logger,
  );
  const admission = new Admission(config.limits.queueMs, clock, (reason) => metrics.refused(reason));
  metrics.observeAdmission(admission);
  metrics.observeTransport(platform.transport);
  const context = {
    admission,
    openings: new Openings(),
    logs: platform.logs,
    reach: new ReachNotes({ bucket: reached, mayAnswer: () => lease.valid, metrics: metrics.reach, logger }),
    transport: platform.transport,
    memory,
    quota,
    vault: vault.records,
    indexes,
    pasts,
    snapshots,
    damages,
    signer,
    metrics,
    clock,
    logger,
    dedupWindow: config.limits.dedupWindow,
  };
  const { sweep: onServing } = vault;
  const node = new ShardNode({ name, owners, context, lease, staleMs: config.followers.staleMs, onServing });
  observeNode(metrics, node, lease, memory, damages);
  await node.start();
  await vault.start();
  logger.info({ shard: name, collections: node.load.collections }, 'ready');
  const stop = async (): Promise<void> => {
    await vault.stop();
    await node.stop();
    await Promise.all([indexes.builds.close(), pasts.end(), snapshots.threads.close()]);
    vault.close();
  };
  const leave = (): Promise<void> => node.leave({ shards, leaveMs: config.placement.leaveMs });
  return { status: () => node.load, leave, stop };
}

function observeNode(
  metrics: ShardMetrics,
  node: ShardNode,
  lease: Lease,
  memory: VectorMemory,
  damages: DamageReports,
): void {
  metrics.observeDamages(damages);
  metrics.observe(() => node.gauges(memory.usedBytes));
  metrics.indexes.observe(() => node.indexGauges());
  metrics.follow.observe(() => node.following.gauges());
  metrics.moves.observe(() => ({ leftMs: lease.leftMs, isLeaving: node.isLeaving }));
}

type Opening = ShardOptions & { readonly clock: Clock };

/** Everybody may know which keys sign. */
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
      'checkpoints are signed with another key than before; where nobody replaced the signing key, its file was lost or ' +
        'damaged: put it back from a copy, and start again',
    );
  return signer;
}

async function openIndexes(
  { config, name, platform, logger, clock }: Opening,
  metrics: ShardMetrics,
  damages: DamageReports,
): Promise<IndexServices> {
  return {
    store: await GenerationStore.open(indexFolder(config.dataDir, name), logger, (damage) => {
      metrics.indexes.damaged();
      damages.report({ ...damage, part: 'index' });
    }),
    builds: new BuildThread(logger),
    absorber: new Absorber(clock, logger),
    desired: new DesiredSpecs(await platform.bucket(BUCKETS.catalog)),
    metrics: metrics.indexes,
    clock,
    logger,
  };
}

interface ShardVault {
  readonly records: RecordVault;
  /** Begins to finish shreds that were cut short. */
  sweep(): void;
  /** What goes on in the background. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Forgets the master keys: no record can be opened any more. */
  close(): void;
}

async function openVault(
  { config, platform, logger, clock }: Opening,
  damages: DamageReports,
  calls: CallCount,
  hosted: () => Iterable<HostedCollection>,
): Promise<ShardVault> {
  const [vault, bucket, catalog] = await Promise.all([
    platform.vault(),
    platform.bucket(BUCKETS.shreds),
    platform.bucket(BUCKETS.catalog),
  ]);
  const marks = new ShredMarks(bucket, clock);
  const keys = await DataKeys.open({ vault, masterKeyFile: config.masterKeyFile, logger });
  const shreds = new PendingShreds({ vault, marks, catalog, hosted, clock, logger });
  const check = new VaultCheck({ vault, keys, damages, hosted, calls, clock, logger });
  return {
    records: new RecordVault(vault, marks, keys, clock, systemEntropy),
    sweep: () => void shreds.sweep(),
    start: async () => {
      await shreds.start();
      check.start();
    },
    stop: async () => {
      await check.stop();
      await shreds.stop();
    },
    close: () => keys.close(),
  };
}

async function openSnapshots(
  { config, name, logger, clock }: Opening,
  metrics: ShardMetrics,
  damages: DamageReports,
): Promise<SnapshotServices> {
  const { everyBytes, keep } = config.snapshots;
  return new SnapshotServices({
    store: await SnapshotStore.open(snapshotFolder(config.dataDir, name), keep, logger, (damage) =>
      damages.report({ ...damage, part: 'snapshot' }),
    ),
    threads: new ReadThreads(),
    metrics: metrics.snapshots,
    clock,
    logger,
    everyBytes,
  });
}

function openPasts({ config, logger, clock }: Opening, metrics: ShardMetrics, store: SnapshotStore): PastThread {
  return new PastThread({
    boundBytes: config.limits.pastStatesBytes,
    clock,
    logger,
    measured: (what) => metrics.past.measured(what),
    onSetAside: ({ id }, snapshot) => store.wasSetAside(id, { ...snapshot }),
  });
}

/** A shard's own: its name may be anything, a folder's may not. */
const indexFolder = (dataDir: string, shard: string): string =>
  join(dataDir, 'indexes', Buffer.from(shard).toString('hex'));

const snapshotFolder = (dataDir: string, shard: string): string =>
  join(dataDir, 'snapshots', Buffer.from(shard).toString('hex'));

async function main(): Promise<void> {
  const flags = readProcessFlagsOrExit('shard');
  const config = loadConfigOrExit(process.env, flags.nats === undefined ? {} : { nats: { url: flags.nats } });
  const name = flags.name ?? (await takeOwnName(config.dataDir, systemEntropy));
  const logger = makeLogger(`shard ${name}`, config.logLevel);
  await runProcess(
    logger,
    async (end) => {
      const platform = await openCluster({
        url: config.nats.url,
        name: `vouch-shard-${name}`,
        logger,
        connectWithinMs: START_WITHIN_MS,
        replicas: config.nats.replicas,
        logStreams: config.nats.logStreams,
      });
      const shard = await runShard({ config, name, platform, logger, onTakenOver: () => end(1) });
      const service = await registerService(platform, {
        name: 'vouch-shard',
        version,
        description: 'owns collections: log, audit, state, search',
        instance: name,
        metadata: { shard: name },
        serves: ['read', 'write', 'control', 'eventual', 'named'],
        endpoints: [{ name: 'status', subject: statusSubject('shard', name), answer: async () => shard.status() }],
      });
      return async () => {
        await shard.leave();
        await service.stop();
        await shard.stop();
        await platform.close();
      };
    },
    config.placement.leaveMs,
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main();
