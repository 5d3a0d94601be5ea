/** A whole soak: a cluster, clients, faults, a calm, and then the check of every answer. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LogFile } from '../../scripts/local/supervisor/logFile.js';
import { systemClock } from '../../shared/clock.js';
import { replaceFile } from '../../shared/files/durable.js';
import { countOf, takeAccessLogs, wrongAccess } from './access/takeAccessLogs.js';
import { checkHistory, type Verdict } from './checker/check.js';
import { unbuiltIndexes } from './clients/unbuiltIndexes.js';
import { type Crash, SoakCluster } from './cluster/soakCluster.js';
import { runSchedule, type Schedule } from './faults/schedule.js';
import type { Call } from './history.js';
import { Load } from './load.js';
import { type MemoryOf, MemoryWatch } from './memory.js';
import type { SoakOptions } from './options.js';
import type { OutdatedReads } from './outdated/outdatedReader.js';
import { seededRandom } from './random.js';
import { readLogs, rootSequences } from './readLogs.js';

export interface SoakResult extends Schedule {
  /** Collections that were not served long after the last fault. */
  readonly unserved: readonly string[];
  /** Indexes without the requested type at that time. */
  readonly unbuilt: readonly string[];
  readonly outdated: OutdatedReads;
  readonly seed: number;
  readonly folder: string;
  readonly calls: readonly Call[];
  readonly crashes: readonly Crash[];
  readonly failedStarts: number;
  /** Errors logged by shards and coordinators → how often. */
  readonly errors: ReadonlyMap<string, number>;
  readonly memory: readonly MemoryOf[];
  readonly logs: readonly { readonly collection: string; readonly events: number; readonly sizeBytes: number }[];
  readonly verdict: Verdict;
  /** Number of entries in the access logs, and contradictions between them and the reads. */
  readonly access: { readonly entries: number; readonly wrong: readonly string[] };
}

/** Reports progress. `atMs`: milliseconds since the first fault. */
export type ReportProgress = (atMs: number, text: string) => void;

const CALM_MS = 3_000;
/** Milliseconds after the last fault within which everything is served. */
const SERVED_AGAIN_MS = 120_000;
/** Small, so that there are snapshots to damage. */
const SNAPSHOT_EVERY_BYTES = 16 * 1024;
/** Allowed staleness of an eventual answer; another process's clock measures it. */
const STALE_MS = 2_000;

export async function runSoak(options: SoakOptions, report: ReportProgress, signal?: AbortSignal): Promise<SoakResult> {
  const folder = await mkdtemp(join(options.folder ?? tmpdir(), 'vouch-soak-'));
  let startedMs = systemClock.monotonicMs();
  const say = (text: string): void => report(systemClock.monotonicMs() - startedMs, text);
  say(`data, logs and history: ${folder}`);
  const cluster = new SoakCluster(shapeOf(options), folder, ({ name, how }) => say(`! ${name} ended ${how}`));
  const history = await LogFile.open(join(folder, 'history.jsonl'), Number.POSITIVE_INFINITY);
  try {
    await cluster.start();
    const load = await Load.open(options, cluster, history);
    const memory = new MemoryWatch(() => cluster.processIds);
    memory.start();
    load.start();
    const unixMs = systemClock.nowMs() - systemClock.monotonicMs();
    await wait(CALM_MS);
    startedMs = systemClock.monotonicMs();
    const schedule = await makeFaults(options, cluster, load, { report: say, startedMs, signal });
    await replaceFile(join(folder, 'faults.json'), `${JSON.stringify(schedule, null, 2)}\n`);
    say('calm');
    await wait(CALM_MS);
    const outdated = await load.stop();
    const address = [...cluster.coordinators.values()][0]!;
    const unbuilt = await unbuiltIndexes(address, load.key, load.indexed.keys(), SERVED_AGAIN_MS);
    const access = await takeAccessLogs(address, await cluster.makeKey('admin'), load.audited);
    const memoryOf = memory.stop();
    const { calls } = load.recorder;
    say('checking');
    await cluster.endServices();
    const sequencesOf = (name: string): number[] => {
      const shown = (access.entries.get(name) ?? []).flatMap(({ sequence }) => sequence ?? []);
      return rootSequences(calls, name, shown);
    };
    const logs = await readLogs(cluster.natsUrls[0]!, cluster.loginAs('operator'), load.collections, sequencesOf);
    return {
      ...schedule,
      unbuilt,
      outdated,
      seed: options.seed,
      folder,
      calls,
      crashes: cluster.crashes,
      failedStarts: cluster.failedStarts,
      errors: cluster.errors,
      memory: memoryOf,
      logs: logs.map(({ collection, entries, sizeBytes }) => ({ collection, events: entries.length, sizeBytes })),
      verdict: checkHistory(calls, logs, { staleMs: STALE_MS, indexed: load.indexed, unixMs, access: access.entries }),
      access: { entries: countOf(access), wrong: wrongAccess(access, load.reads.all, logs) },
    };
  } finally {
    await cluster.end();
    await history.close();
  }
}

function shapeOf({ servers, shards, coordinators, followers, placement }: SoakOptions): SoakCluster['shape'] {
  const settings = {
    VOUCH_HEARTBEAT_MS: String(placement.heartbeatMs),
    VOUCH_LEASE_MS: String(placement.leaseMs),
    VOUCH_FAILOVER_MS: String(placement.failoverMs),
    VOUCH_DRAIN_TIMEOUT_MS: '20000',
    VOUCH_FOLLOWERS: String(followers),
    VOUCH_FOLLOWERS_STALE_MS: String(STALE_MS),
    VOUCH_SNAPSHOT_EVERY_BYTES: String(SNAPSHOT_EVERY_BYTES),
  };
  return { servers, shards, coordinators, settings };
}

async function makeFaults(
  options: SoakOptions,
  cluster: SoakCluster,
  { collections, recorder }: Load,
  { report, startedMs, signal }: { report: (text: string) => void; startedMs: number; signal: AbortSignal | undefined },
): Promise<Schedule & Pick<SoakResult, 'unserved'>> {
  const names = collections.map(({ name }) => name);
  const silentSince = (sinceMs: number): readonly string[] => recorder.silentSince(names, sinceMs);
  const schedule = await runSchedule({
    cluster,
    random: seededRandom(options.seed),
    timing: options.placement,
    untilMs: startedMs + options.durationMs,
    only: options.only,
    silentSince,
    settleMs: options.settleMs,
    report,
    signal,
  });
  const overMs = systemClock.monotonicMs();
  while (silentSince(overMs).length > 0 && systemClock.monotonicMs() < overMs + SERVED_AGAIN_MS)
    await wait(CALM_MS / 10);
  return { ...schedule, unserved: silentSince(overMs) };
}
