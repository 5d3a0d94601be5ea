/**
 * Behaviour of an overloaded service. For each workload it finds the best throughput, with requests that wait for one another.
 * Then it applies loads of a constant rate below and above it.
 */

import { type BenchCluster, withCluster } from './cluster.js';
import type { Client } from './httpClient.js';
import { percentile } from './httpLoad.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { LOAD_CORES, moveTo, SERVICE_CORES } from './overload/cores.js';
import { makeForkedLoad } from './overload/forkedLoad.js';
import { benchFullProject } from './overload/fullProject.js';
import type { KindCounts, LoadCounts, LoadPlan } from './overload/load.js';
import { prepareWorkloads, type Workload } from './overload/workloads.js';
import { cpuSeconds } from './processCpu.js';
import { residentBytes } from './processMemory.js';
import type { Row } from './row.js';

const MIB = 1024 * 1024;

export const benchOverload = async (sizes: Sizes): Promise<Row[]> => [
  ...(await benchLoads(sizes)),
  ...(await measured('full project', 1, (progress) => benchFullProject(sizes, progress))),
];

const ONE_SHARD = {
  VOUCH_SHARDS: '1',
  VOUCH_LOG_LEVEL: 'error',
  VOUCH_MAX_QUEUE_WAIT_MS: '',
  // No snapshots: one would take its share of the core for seconds, in some loads but not in others.
  VOUCH_SNAPSHOT_EVERY_BYTES: '1000000000000',
};

const benchLoads = (sizes: Sizes): Promise<Row[]> =>
  withCluster(async (client, cluster) => {
    const workloads = await prepareWorkloads(client, sizes);
    const rows: Row[] = [];
    await moveTo(SERVICE_CORES, Object.values(await cluster.processIds()));
    await measured('overload', workloads.length * (sizes.overloadLoads.length + 1), async (progress) => {
      for (const workload of workloads)
        rows.push(...(await new Overload(client, cluster, workload, sizes).rows(() => progress.advance(1))));
      return rows;
    });
    return rows;
  }, ONE_SHARD);

/** The system's step of CPU time: a short load may take less. */
const TICK_SECONDS = 0.01;
/** Longest measurement: it is repeated for twice as long if a busy machine answers nothing. */
const ANSWERED_WITHIN_SECONDS = 60;

class Overload {
  readonly #rows: Row[] = [];
  /** More informative than the throughput on a machine that others use too. */
  #bestPerCpuSecond = Number.NaN;

  constructor(
    private readonly client: Client,
    private readonly cluster: BenchCluster,
    private readonly workload: Workload,
    private readonly sizes: Sizes,
  ) {}

  async rows(onMeasured: () => void): Promise<Row[]> {
    const best = await this.#best();
    this.#add('best throughput', best, 'requests/s');
    onMeasured();
    for (const load of this.sizes.overloadLoads) {
      await this.#at(load, best);
      onMeasured();
    }
    return this.#rows;
  }

  /** The best throughput. Throws without an answer within a minute. */
  async #best(seconds = this.sizes.overloadSeconds): Promise<number> {
    let best = 0;
    for (const connections of this.workload.atOnce) {
      const { counts, cpuSeconds } = await this.#make({ rate: undefined, connections, seconds });
      const throughput = answeredOf(counts) / counts.seconds;
      if (throughput < best) continue;
      best = throughput;
      this.#bestPerCpuSecond = answeredOf(counts) / cpuSeconds;
    }
    if (best > 0) return best;
    if (seconds > ANSWERED_WITHIN_SECONDS) throw new Error(`${this.workload.name}: nothing is answered`);
    return this.#best(2 * seconds);
  }

  async #at(load: number, best: number): Promise<void> {
    const { counts, cpuSeconds } = await this.#make({
      rate: load * best,
      connections: this.sizes.overloadConnections,
      seconds: this.sizes.overloadSeconds,
    });
    const bytes = await residentBytes(await this.cluster.processIds());
    const kinds = Object.entries(counts.kinds);
    const what = `${load} × the best`;
    const answered = answeredOf(counts) / counts.seconds;
    this.#add(`${what}, answered`, answered, 'requests/s');
    this.#add(`${what}, answered / best`, answered / best, '');
    const perCpuSecond = answeredOf(counts) / cpuSeconds;
    this.#add(`${what}, answered with a second of CPU / at the best`, perCpuSecond / this.#bestPerCpuSecond, '');
    for (const [kind, { answeredMs, refusedMs, refused, failed }] of kinds) {
      const of = kinds.length === 1 ? what : `${what}, ${kind}`;
      if (answeredMs.length > 0) {
        this.#add(`${of}, answered p50`, percentile(answeredMs, 0.5), 'ms');
        this.#add(`${of}, answered p99`, percentile(answeredMs, 0.99), 'ms');
      }
      if (refusedMs.length > 0) {
        this.#add(`${of}, refused`, refused / counts.seconds, 'requests/s');
        this.#add(`${of}, refused p50`, percentile(refusedMs, 0.5), 'ms');
        this.#add(`${of}, refused p99`, percentile(refusedMs, 0.99), 'ms');
      }
      if (failed > 0) this.#add(`${of}, failed (${counts.failures[0]})`, failed, 'requests');
    }
    this.#add(`${what}, the load itself was late by at most`, counts.lateMs, 'ms');
    for (const name of bytes.keys())
      if (/coordinator|shard/.test(name)) this.#add(`${what}, memory of ${name}`, bytes.get(name)! / MIB, 'MiB');
  }

  async #make(
    load: Pick<LoadPlan, 'rate' | 'connections' | 'seconds'>,
  ): Promise<{ counts: LoadCounts; cpuSeconds: number }> {
    const { requests, kinds } = this.workload;
    const spent = async (): Promise<number> =>
      [...(await cpuSeconds(await this.cluster.processIds())).values()].reduce((sum, seconds) => sum + seconds, 0);
    let before: Promise<number> | undefined;
    const plan: LoadPlan = {
      ...this.client.address,
      warmUpSeconds: this.sizes.overloadWarmUpSeconds,
      ...load,
      requests,
      kinds,
    };
    const counts = await makeForkedLoad(plan, {
      onStarted: (pid) => moveTo(LOAD_CORES, [pid]),
      onCounting: () => {
        before = spent();
      },
    });
    return { counts, cpuSeconds: Math.max((await spent()) - ((await before) ?? Number.NaN), TICK_SECONDS) };
  }

  #add(figure: string, value: number, unit: string): void {
    this.#rows.push({ part: 'overload', name: `${this.workload.name}: ${figure}`, value, unit });
  }
}

const answeredOf = ({ kinds }: LoadCounts): number =>
  Object.values(kinds).reduce((sum: number, { answered }: KindCounts) => sum + answered, 0);
