/**
 * Watches a running cluster for the view. Changes arrive by watches of buckets. Figures are read once a second: a page of each NATS
 * server, and the metrics of one coordinator. The coordinators take turns, since each asks every shard (2 ms of a shard's time). A
 * snapshot sends no request.
 */
import type { Config } from '../../../../config/config.js';
import { LEASE_MS } from '../../../../coordinator/cluster/members/leadership.js';
import type { Watch } from '../../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../../shared/bucket/buckets.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { type ClusterPlatform, openCluster } from '../../../../shared/platform/natsPlatform.js';
import { heartbeatOf, ownershipOf } from '../../../../shared/registry/owners.js';
import { PeriodicTask } from '../../../../shared/scheduling/periodicTask.js';
import type { NatsAccess } from '../../natsServer/users.js';
import { getPage } from '../../page.js';
import type { ClusterLayout, ClusterPart } from '../../supervisor/clusterPlans.js';
import type { ClusterSnapshot, ShardState } from '../snapshot.js';
import { type EdgeReading, edgeFigures, readMetrics, type ShardReading, shardFigures } from './figures.js';
import type { News } from './news.js';
import { Ownerships } from './ownerships.js';
import { JETSTREAM_PAGE, NO_SERVER_FIGURES, type ServerFigures, serverFigures } from './serverPage.js';
import { ShardLives } from './shardLives.js';

/** A started ClusterService. */
export interface Watched {
  readonly layout: ClusterLayout;
  natsAs(role: 'operator'): NatsAccess;
  /** Process ids by name. */
  readonly processIds: Readonly<Record<string, number>>;
}

const ROUND_MS = 1_000;
/** Longest wait for a page, which takes a few milliseconds; afterwards the process is shown as unknown. */
const ANSWER_MS = 900;

/** The last reading and the one before it. */
type Readings<T> = Partial<Record<'before' | 'now', T | undefined>>;

const LEADERSHIP: Readonly<Record<string, string>> = {
  placement: 'leads placement',
  limits: 'counts the requests of all projects',
};

export class ClusterWatch {
  readonly #rounds = new PeriodicTask(() => this.#round(), ROUND_MS);
  readonly #watches: Watch[] = [];
  readonly #ownerships: Ownerships;
  readonly #lives: ShardLives;
  /** Lease → the name of its coordinator. */
  readonly #leaders = new Map<string, string>();
  readonly #edges = new Map<string, Readings<EdgeReading>>();
  /** Number of the round: each asks another coordinator. */
  #turn = 0;
  #shards: Readings<ReadonlyMap<string, ShardReading>> = {};
  #servers: readonly ServerFigures[] = [];
  #metaLeader: string | undefined;

  private constructor(
    private readonly watched: Watched,
    private readonly platform: ClusterPlatform,
    private readonly news: News,
    config: Config,
  ) {
    this.#ownerships = new Ownerships(config.followers);
    this.#lives = new ShardLives((shard) => this.#ownerships.owned(shard), config.placement.leaseMs, news);
  }

  /** `config`: the configuration of the cluster. Throws an Error of one line if NATS does not answer. */
  static async open(watched: Watched, config: Config, news: News): Promise<ClusterWatch> {
    const platform = await openCluster({ ...watched.natsAs('operator'), name: 'vouch-view', logger: silentLogger });
    const watch = new ClusterWatch(watched, platform, news, config);
    await news.quietly(() => watch.#start(config));
    return watch;
  }

  snapshot(): Omit<ClusterSnapshot, 'url' | 'keyFile' | 'upMs'> {
    const nowMs = systemClock.monotonicMs();
    const { servers, coordinators, shards } = this.watched.layout;
    const own = new Set(shards.map(({ name }) => name));
    const isAlive = (name: string): boolean =>
      this.#ownerships.owned(name) > 0 || this.#lives.leaseOf(name, nowMs).kind !== 'none';
    const elsewhere = this.#lives.names.filter((name) => !own.has(name) && isAlive(name)).sort();
    return {
      servers: servers.map(({ name, process }, i) => ({
        name,
        pid: this.#pidOf(process),
        ...(this.#servers[i] ?? NO_SERVER_FIGURES),
      })),
      coordinators: coordinators.map((part) => this.#coordinatorState(part)),
      shards: [
        ...shards.map(({ name, process }) => this.#shardState(name, this.#pidOf(process), nowMs)),
        ...elsewhere.map((name) => this.#shardState(name, 'elsewhere', nowMs)),
      ],
      moves: this.#ownerships.moves(nowMs),
      news: this.news.items,
    };
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.stop();
    await this.#rounds.stop();
    await this.platform.close();
  }

  async #start({ placement }: Config): Promise<void> {
    const [owners, shards, leases] = await Promise.all([
      this.platform.bucket(BUCKETS.owners),
      this.platform.bucket(BUCKETS.shards, { ttlMs: placement.leaseMs }),
      this.platform.bucket(BUCKETS.leases, { ttlMs: LEASE_MS }),
    ]);
    const { monotonicMs: nowMs } = systemClock;
    this.#watches.push(
      await owners.watch(({ key, entry }) => {
        this.#ownerships.set(Number(key), entry && ownershipOf(entry), nowMs());
      }),
      await shards.watch(({ key, entry }) => this.#lives.set(key, entry && heartbeatOf(entry), nowMs())),
      await leases.watch(({ key, entry }) => {
        this.#setLeader(key, (entry?.value as { readonly holder?: string } | undefined)?.holder);
      }),
    );
    await this.#round();
    this.#rounds.start();
  }

  async #round(): Promise<void> {
    const { servers } = this.watched.layout;
    const metrics = this.#readNextMetrics();
    this.#servers = await Promise.all(servers.map((part) => readServer(part)));
    await metrics;
    this.#reportMetaLeader(servers.find((_, i) => this.#servers[i]!.leadsMeta)?.name);
    const moved = this.#ownerships.takeMoved().map(({ from, to, collections }) => `${collections} ${from} → ${to}`);
    if (moved.length > 0) this.news.add('plain', `collections moved: ${moved.join(', ')}`);
    this.#lives.ownersChanged(systemClock.monotonicMs());
  }

  async #readNextMetrics(): Promise<void> {
    const running = this.watched.layout.coordinators.filter(({ process }) => this.#pidOf(process) !== undefined);
    const asked = running[this.#turn++ % running.length];
    if (asked?.url === undefined) return;
    const page = await getPage(asked.url, ANSWER_MS);
    const reading = page?.status === 200 ? readMetrics(page.body, systemClock.monotonicMs()) : undefined;
    this.#edges.set(asked.name, { before: this.#edges.get(asked.name)?.now, now: reading?.edge });
    // A coordinator's metrics include those of all shards that answered it in time.
    this.#shards = { before: this.#shards.now, now: reading?.shards };
  }

  #setLeader(lease: string, holder: string | undefined): void {
    if (holder === undefined) {
      this.#leaders.delete(lease);
      return;
    }
    // A holder is the coordinator's name, a dot, and an id of its process.
    const name = holder.split('.', 1)[0]!;
    const leads = LEADERSHIP[lease];
    if (leads !== undefined && this.#leaders.get(lease) !== name) this.news.add('plain', `${name} ${leads}`);
    this.#leaders.set(lease, name);
  }

  #reportMetaLeader(name: string | undefined): void {
    if (name === undefined || name === this.#metaLeader) return;
    if (this.watched.layout.servers.length > 1) this.news.add('plain', `${name} leads the meta group of NATS`);
    this.#metaLeader = name;
  }

  #pidOf(process: string): number | undefined {
    return this.watched.processIds[process];
  }

  #coordinatorState({ name, process }: ClusterPart) {
    const pid = this.#pidOf(process);
    const { before, now } = (pid === undefined ? undefined : this.#edges.get(name)) ?? {};
    return {
      name,
      pid,
      leadsPlacement: this.#leaders.get('placement') === name,
      countsRequests: this.#leaders.get('limits') === name,
      ...edgeFigures(before, now),
    };
  }

  #shardState(name: string, pid: ShardState['pid'], nowMs: number): ShardState {
    const { before, now } = this.#shards;
    return {
      name,
      pid,
      owned: this.#ownerships.owned(name),
      followed: this.#ownerships.followed(name),
      lease: this.#lives.leaseOf(name, nowMs),
      ...shardFigures(before?.get(name), now?.get(name)),
    };
  }
}

async function readServer({ name, url }: ClusterPart): Promise<ServerFigures> {
  const page = url === undefined ? undefined : await getPage(`${url}${JETSTREAM_PAGE}`, ANSWER_MS);
  try {
    return page?.status === 200 ? serverFigures(name, JSON.parse(page.body)) : NO_SERVER_FIGURES;
  } catch {
    // The server ended while it sent the page.
    return NO_SERVER_FIGURES;
  }
}
