/**
 * Watches a running cluster for the view. What changes comes by itself, from the buckets; what is counted is asked for
 * once a second: a page of each NATS server, and the metrics of one coordinator after the other, since each of them asks
 * every shard for its own (2 ms of a shard's time). A snapshot asks nobody.
 */
import type { Config } from '../../../config/config.js';
import { LEASE_MS } from '../../../coordinator/cluster/leadership.js';
import type { Watch } from '../../../shared/bucket/bucket.js';
import type { Clock } from '../../../shared/clock.js';
import { silentLogger } from '../../../shared/logger.js';
import { type ClusterPlatform, openCluster } from '../../../shared/natsPlatform.js';
import { heartbeatOf, ownershipOf } from '../../../shared/owners.js';
import { BUCKETS } from '../../../shared/platform.js';
import { Rounds } from '../../../shared/rounds.js';
import type { ClusterLayout, Part } from '../../supervisor/clusterPlans.js';
import type { ClusterSnapshot, CoordinatorState, ServerState, ShardState } from '../snapshot.js';
import { type EdgeReading, edgeFigures, readMetrics, type ShardReading, shardFigures } from './figures.js';
import type { News } from './news.js';
import { Ownerships } from './ownerships.js';
import { readPage } from './page.js';
import { JETSTREAM_PAGE, NO_SERVER_FIGURES, type ServerFigures, serverFigures } from './serverPage.js';
import { ShardLives } from './shardLives.js';

/** What runs: a ClusterService that has started. */
export interface Watched {
  readonly layout: ClusterLayout;
  readonly natsUrl: string | null;
  /** Process name → process id. */
  readonly processIds: Readonly<Record<string, number>>;
}

const ROUND_MS = 1_000;

/** The last reading and the one before it. */
interface Readings<T> {
  readonly before: T | undefined;
  readonly now: T | undefined;
}

type Snapshot = Pick<ClusterSnapshot, 'servers' | 'coordinators' | 'shards' | 'moves' | 'news'>;

export class ClusterWatch {
  readonly #rounds = new Rounds(() => this.#round(), ROUND_MS);
  readonly #watches: Watch[] = [];
  readonly #ownerships: Ownerships;
  readonly #lives: ShardLives;
  /** Lease → who holds it, by the name of the coordinator. */
  readonly #leaders = new Map<string, string>();
  readonly #edges = new Map<string, Readings<EdgeReading>>();
  /** Counts the rounds, to ask another coordinator in each. */
  #turn = 0;
  #shards: Readings<ReadonlyMap<string, ShardReading>> = { before: undefined, now: undefined };
  #servers: ReadonlyMap<string, ServerFigures> = new Map();
  #metaLeader: string | undefined;

  private constructor(
    private readonly watched: Watched,
    private readonly platform: ClusterPlatform,
    private readonly news: News,
    private readonly clock: Clock,
    config: Config,
  ) {
    this.#ownerships = new Ownerships(config.followers);
    this.#lives = new ShardLives((shard) => this.#ownerships.owned(shard), config.placement.leaseMs, news);
  }

  /** `config`: what the cluster runs with. Throws an Error of one line where NATS does not answer. */
  static async open(watched: Watched, config: Config, news: News, clock: Clock): Promise<ClusterWatch> {
    const { replicas, logStreams } = config.nats;
    const options = { url: watched.natsUrl, name: 'vouch-view', logger: silentLogger, replicas, logStreams };
    const platform = await openCluster(options);
    const watch = new ClusterWatch(watched, platform, news, clock, config);
    await news.quietly(() => watch.#start(config));
    return watch;
  }

  snapshot(): Snapshot {
    const nowMs = this.clock.monotonicMs();
    const { layout } = this.watched;
    const own = new Set(layout.shards.map(({ name }) => name));
    const elsewhere = this.#lives.names.filter((name) => !own.has(name) && this.#isThere(name, nowMs)).sort();
    return {
      servers: layout.servers.map((part) => this.#serverState(part)),
      coordinators: layout.coordinators.map((part) => this.#coordinatorState(part)),
      shards: [
        ...layout.shards.map(({ name, process }) => this.#shardState(name, this.#pidOf(process), nowMs)),
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
    const nowMs = (): number => this.clock.monotonicMs();
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
    const [, ...pages] = await Promise.all([this.#readNextMetrics(), ...servers.map((part) => this.#readServer(part))]);
    this.#servers = new Map(servers.map(({ name }, i) => [name, pages[i]!]));
    this.#tellMetaLeader(servers.find((_, i) => pages[i]!.leadsMeta)?.name);
    const moved = this.#ownerships.takeMoved().map(({ from, to, collections }) => `${collections} ${from} → ${to}`);
    if (moved.length > 0) this.news.add('plain', `collections moved: ${moved.join(', ')}`);
    this.#lives.ownersChanged(this.clock.monotonicMs());
  }

  async #readNextMetrics(): Promise<void> {
    const running = this.watched.layout.coordinators.filter(({ process }) => this.#pidOf(process) !== undefined);
    const asked = running[this.#turn++ % running.length];
    if (asked?.url === undefined) return;
    const text = await readPage(asked.url);
    const reading = text === undefined ? undefined : readMetrics(text, this.clock.monotonicMs());
    this.#edges.set(asked.name, { before: this.#edges.get(asked.name)?.now, now: reading?.edge });
    // It tells of all shards; of one that does not answer in time nothing is known.
    this.#shards = { before: this.#shards.now, now: reading?.shards };
  }

  async #readServer({ name, url }: Part): Promise<ServerFigures> {
    const text = url === undefined ? undefined : await readPage(`${url}${JETSTREAM_PAGE}`);
    try {
      return text === undefined ? NO_SERVER_FIGURES : serverFigures(name, JSON.parse(text));
    } catch {
      // Cut off with the server that wrote it.
      return NO_SERVER_FIGURES;
    }
  }

  #setLeader(lease: string, holder: string | undefined): void {
    // A holder is the coordinator's name, a dot, and what makes it this process.
    const name = holder?.slice(0, holder.indexOf('.') === -1 ? undefined : holder.indexOf('.'));
    const before = this.#leaders.get(lease);
    if (name === undefined) {
      this.#leaders.delete(lease);
      return;
    }
    this.#leaders.set(lease, name);
    if (before !== name && lease === 'placement') this.news.add('plain', `${name} leads placement`);
    if (before !== name && lease === 'limits') this.news.add('plain', `${name} counts the requests of all projects`);
  }

  #tellMetaLeader(name: string | undefined): void {
    if (name === undefined || name === this.#metaLeader) return;
    if (this.watched.layout.servers.length > 1) this.news.add('plain', `${name} leads the meta group of NATS`);
    this.#metaLeader = name;
  }

  #isThere(shard: string, nowMs: number): boolean {
    return this.#ownerships.owned(shard) > 0 || this.#lives.leaseOf(shard, nowMs).kind !== 'none';
  }

  #pidOf(process: string): number | undefined {
    return this.watched.processIds[process];
  }

  #serverState({ name, process }: Part): ServerState {
    return { name, pid: this.#pidOf(process), ...(this.#servers.get(name) ?? NO_SERVER_FIGURES) };
  }

  #coordinatorState({ name, process }: Part): CoordinatorState {
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
