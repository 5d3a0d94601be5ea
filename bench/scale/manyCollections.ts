/**
 * Many small collections in one cluster: the cost of each step with so many, twice as many and four times as many. The last
 * figures show whether a step is worse than linear. They divide the ratio of its costs, with the most and the fewest collections,
 * by the ratio of these numbers. On a machine that others use too, processor time is reliable and elapsed time is not.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../../scripts/terminal/progress.js';
import { systemClock } from '../../shared/clock.js';
import { BenchCluster } from '../cluster.js';
import type { Client } from '../httpClient.js';
import { runLoad } from '../httpLoad.js';
import type { Sizes } from '../options.js';
import { cpuSeconds } from '../processCpu.js';
import { residentBytes } from '../processMemory.js';
import { type Row, rowAbout } from '../row.js';
import { byKind, grown, KINDS, type Kind } from './kinds.js';
import { clientsOfProjects } from './projects.js';

/** Several projects, since one has at most 1,024 collections by default. */
const PROJECTS = 5;
const DIMENSION = 4;
const VECTOR = [1, 2, 3, 4];
const IN_FLIGHT = 8;
/** Repetitions of a listing, enough to measure its processor time. */
const LISTINGS = 10;
const MIB = 2 ** 20;
const MS = 1e3;
/** The system's step of processor time. */
const LEAST_SECONDS = 0.01;

/** Cost of a step: elapsed time, and processor time of all processes. */
interface Taken {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Figures of one size, by name. */
interface Measured {
  readonly collections: number;
  readonly steps: ReadonlyMap<string, Taken>;
  readonly others: readonly Row[];
}

export async function benchManyCollections(sizes: Sizes, progress: Progress): Promise<Row[]> {
  const all: Measured[] = [];
  for (const collections of sizes.scaleCollections) {
    all.push(await measureSize(collections, sizes.idleSeconds));
    progress.advance(1);
  }
  return [...all.flatMap(rowsOf), ...linearity(all)];
}

async function measureSize(collections: number, idleSeconds: number): Promise<Measured> {
  const { cluster, url } = await BenchCluster.start();
  try {
    const steps = new Map<string, Taken>();
    const others: Row[] = [];
    let clients = await clientsOfProjects(cluster, url, PROJECTS);
    const rowOf = rowAbout('scale', `${collections} collections`);
    const row = (...figure: Parameters<typeof rowOf>): void => void others.push(rowOf(...figure));
    const atRest = async (when: string): Promise<void> => {
      const resident = byKind(await residentBytes(await cluster.processIds()));
      for (const kind of KINDS) row(`memory ${when}, ${kind}`, resident.get(kind)! / MIB, 'MiB');
      for (const [kind, busy] of await idleSecondsOf(cluster, idleSeconds))
        row(`CPU a second at rest ${when}, ${kind}`, (MS * busy) / idleSeconds, 'ms');
    };
    const step = async (name: string, work: () => Promise<number>, times = 1): Promise<void> => {
      const before = await cpuOfAll(cluster);
      let seconds = 0;
      for (let i = 0; i < times; i++) seconds += await work();
      const cpu = (await cpuOfAll(cluster)) - before;
      steps.set(name, { seconds: seconds / times, cpuSeconds: cpu / times });
    };
    const post = (name: string, path: string, body: (name: string) => unknown): Promise<void> =>
      step(name, () => forEach(clients, collections, path, body));
    const restart = async (name: string): Promise<void> => {
      const { url, seconds } = await cluster.restart();
      steps.set(name, { seconds, cpuSeconds: await cpuOfAll(cluster) });
      clients = clients.map((client) => client.at(url));
    };
    const search = (collection: string) => ({ collection, query: VECTOR, k: 1 });

    await post('create each', '/v1/namespaces', (name) => ({ name, dimension: DIMENSION, metric: 'squared_l2' }));
    await atRest('when they are made');
    await restart('start of the whole service');
    await step('list all projects', () => list(clients));
    await step('list all projects again', () => list(clients), LISTINGS);
    await post('insert one record in each', '/v1/records', (collection) => ({ collection, values: VECTOR }));
    await post('search each', '/v1/search', search);
    await atRest('when all are open');
    await restart('start of the whole service, with data');
    await step('list all projects, with data', () => list(clients));
    await post('open and search each', '/v1/search', search);
    return { collections, steps, others };
  } finally {
    await cluster.stop();
  }
}

async function cpuOfAll(cluster: BenchCluster): Promise<number> {
  let sum = 0;
  for (const seconds of (await cpuSeconds(await cluster.processIds())).values()) sum += seconds;
  return sum;
}

/** Sends a POST for each collection, projects in turn. Returns the seconds that took. */
async function forEach(
  clients: readonly Client[],
  collections: number,
  path: string,
  body: (name: string) => unknown,
): Promise<number> {
  const request = (i: number): Buffer => clients[i % PROJECTS]!.request(path, body(`collection-${i}`));
  const requests = Array.from({ length: collections }, (_, i) => request(i));
  const load = {
    ...clients[0]!.address,
    inFlight: IN_FLIGHT,
    requests: collections,
    request: (i: number) => requests[i]!,
  };
  return (await runLoad(load)).seconds;
}

/** Lists one project after the other. Returns the seconds that took. */
async function list(clients: readonly Client[]): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  for (const client of clients) await client.get('/v1/namespaces');
  return (systemClock.monotonicMs() - startedMs) / MS;
}

async function idleSecondsOf(cluster: BenchCluster, seconds: number): Promise<ReadonlyMap<Kind, number>> {
  const processIds = await cluster.processIds();
  const before = byKind(await cpuSeconds(processIds));
  await delay(seconds * MS);
  return grown(before, byKind(await cpuSeconds(processIds)));
}

const rowsOf = ({ collections, steps, others }: Measured): Row[] => [
  ...[...steps].map(([name, { seconds }]) => rowAbout('scale', `${collections} collections`)(name, seconds, 's')),
  ...others,
];

function linearity(all: readonly Measured[]): Row[] {
  const [few, many] = [all[0]!, all.at(-1)!];
  const times = many.collections / few.collections;
  const row = (name: string, what: string, of: (taken: Taken) => number): Row => {
    const value = of(many.steps.get(name)!) / Math.max(LEAST_SECONDS, of(few.steps.get(name)!)) / times;
    return {
      part: 'scale',
      name: `${name}, ${many.collections} / ${few.collections}: ${what} / linear`,
      value,
      unit: '',
    };
  };
  return [...many.steps.keys()].flatMap((name) => [
    row(name, 'time', ({ seconds }) => seconds),
    row(name, 'CPU time', ({ cpuSeconds }) => cpuSeconds),
  ]);
}
