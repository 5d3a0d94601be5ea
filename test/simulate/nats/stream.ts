/**
 * A stream and its servers, like nats-server 2.12 and later. The leader proposes. A message that a majority has is
 * committed, in one order for all. Each server applies it later.
 *
 * ```text
 * proposed ──a majority has it──▶ committed ──▶ applied by the leader (and acknowledged) ──▶ applied by the others
 * ```
 *
 * In a cluster the leader compares an expected sequence when it proposes. It refuses a subject with a message in
 * flight. A new leader serves once it has applied everything inherited. So no message is refused when it is applied,
 * and no two follow the same one.
 *
 * The real servers have oddities. The next leader may commit a proposal of a stale one, or drop it. Its publisher receives
 * no answer. A leader that is cut off does not know of the next one for ten seconds, and answers from its own state
 * (`STALE_LEADER_MS` in `shared/log/jetStreamLog.ts`). Any server of the stream answers a direct get from what it has
 * applied (`shared/log/jetStreamMessages.ts`).
 */
import type { SeededRandom } from '../../soak/random.js';
import type { World } from '../world/world.js';
import { type Applied, type PublishOp, type StreamOp, type StreamSettings, StreamState } from './streamState.js';

/** Servers of a stream, as the stream needs them. */
export interface Peers {
  readonly world: World;
  isUp(server: string): boolean;
  /** Whether messages pass in both directions. */
  isWhole(one: string, other: string): boolean;
  delayMs(from: string, to: string): number;
  wallMs(server: string): number;
  /** Additional milliseconds to store the stream's next message. */
  slowMs(stream: string): number;
}

type Settle = (applied: Applied) => void;

interface Proposal {
  readonly op: StreamOp;
  readonly by: string;
  readonly settle: Settle | undefined;
}

interface Replica {
  readonly state: StreamState;
  /** Number of log entries that it has applied. */
  applied: number;
  isApplying: boolean;
}

/** Milliseconds of an election, and for which a leader that is cut off does not know of it. */
const ELECTION_MS = { least: 400, more: 3_000 };
const DEPOSED_MS = 10_000;
/** Milliseconds within which a new leader applies earlier commits; one in this many takes much longer. */
const CATCH_UP_MS = 20;
const SLOW_CATCH_UP_ONE_IN = 4;
const SLOW_CATCH_UP_MS = 400;
/** Milliseconds within which a follower applies a commit; one in this many takes much longer. */
const APPLY_MS = 2;
const LAG_ONE_IN = 40;
const LAG_MS = 1_500;
const STORE_MS = 0.6;
const LOOK_AGAIN_MS = 100;
/** Marks a subject whose last message is a proposal in flight. */
const IN_FLIGHT = -1;

export class Stream {
  readonly log: StreamOp[] = [];
  readonly created: string;
  readonly createdMs: number;
  leader: string | undefined;
  isGone = false;
  readonly #replicas = new Map<string, Replica>();
  readonly #deposed = new Map<string, number>();
  #proposals: Proposal[] = [];
  #isElecting = false;
  /** Called after a server has applied entries. */
  onApplied: (server: string) => void = () => undefined;
  /** Called with each stored message, when the first server applies it. */
  onStored: (op: PublishOp) => void = () => undefined;
  /** Largest number of log entries that any server has applied. */
  #appliedMost = 0;
  /** Log entries that every server had synced at the last `sync`. */
  #synced = 0;
  /** Log positions of messages that were refused when they were applied. */
  readonly #refused = new Set<number>();

  constructor(
    private readonly peers: Peers,
    readonly name: string,
    private readonly settings: StreamSettings,
    readonly servers: readonly string[],
  ) {
    this.createdMs = peers.wallMs(servers[0]!);
    this.created = new Date(this.createdMs).toISOString();
    for (const server of servers)
      this.#replicas.set(server, { state: new StreamState(settings), applied: 0, isApplying: false });
    this.leader = servers[peers.world.random('leader').int(servers.length)];
  }

  get isReplicated(): boolean {
    return this.servers.length > 1;
  }

  /** Grows with every entry that the server applies. */
  appliedAt(server: string): number {
    return this.#replicas.get(server)!.applied;
  }

  /** State that the server has applied, without messages that have expired by its clock. */
  stateAt(server: string): StreamState {
    const { state } = this.#replicas.get(server)!;
    state.expire(this.peers.wallMs(server));
    return state;
  }

  /** Whether the server serves and considers itself the leader. */
  leads(server: string): boolean {
    if (!this.peers.isUp(server) || this.isGone) return false;
    if (this.leader === server) return this.appliedAt(server) === this.log.length;
    return (this.#deposed.get(server) ?? 0) > this.peers.world.nowMs;
  }

  has(server: string): boolean {
    return this.#replicas.has(server);
  }

  /**
   * Proposes at a server that considers itself the leader. `settle` is called when it has applied the entry, if it ever
   * does.
   */
  propose(server: string, op: StreamOp, settle?: Settle): void {
    if (op.op === 'publish' && op.expected !== undefined && this.isReplicated) {
      const { subject, sequence } = op.expected;
      const isInFlight = this.#proposals.some((each) => each.op.op === 'publish' && each.op.subject === subject);
      const last = isInFlight ? IN_FLIGHT : this.stateAt(server).lastOf(subject);
      if (last !== sequence) {
        settle?.({ kind: 'wrong sequence', last });
        return;
      }
      // Checked here; not checked again when it is stored.
      this.#add({ op: { ...op, expected: undefined }, by: server, settle });
    } else this.#add({ op, by: server, settle });
  }

  /** The leader steps down, alone or with its server. After a while there is another, if a majority can meet. */
  elect(): void {
    if (this.#isElecting || !this.isReplicated || this.isGone) return;
    this.#isElecting = true;
    const { world } = this.peers;
    const old = this.leader;
    if (old !== undefined) this.#deposed.set(old, world.nowMs + DEPOSED_MS);
    const random = world.random('election');
    world.at(world.root, ELECTION_MS.least + ELECTION_MS.more * random.next(), 'election', () => this.#elected(old));
  }

  /** Everything stored so far survives a power loss. */
  sync(): void {
    this.#synced = this.log.length;
  }

  /**
   * Call it when all its servers are down and have lost power. `isSynced`: they had synced whatever they had
   * acknowledged. Otherwise each has lost some entries from after `sync`, and the log is as long as that of a server
   * which a majority elects.
   */
  losePower(isSynced: boolean): void {
    const random = this.peers.world.random('power');
    const kept = this.servers.map(() => keptOf(random, this.#synced, this.log.length)).sort((a, b) => b - a);
    this.log.length = isSynced ? this.log.length : kept[(kept.length - 1) >> 1]!;
    this.#appliedMost = this.log.length;
    this.#proposals = [];
    this.#settles.clear();
    this.#deposed.clear();
    if (this.isReplicated) this.leader = undefined;
    for (const server of this.servers) this.#replicas.set(server, this.#replayed());
  }

  /** Call it when a server starts or stops, or a connection is cut or healed. */
  reconsider(): void {
    if (this.isGone) return;
    const { leader } = this;
    if (leader === undefined || !this.#canLead(leader)) this.elect();
    // A restarted server does not consider itself the leader.
    for (const server of this.servers) if (!this.peers.isUp(server)) this.#deposed.delete(server);
    for (const server of this.servers) this.#apply(server);
  }

  /** Replica of a server that replays its log from the beginning. */
  #replayed(): Replica {
    const state = new StreamState(this.settings);
    // Expectations were checked at that time, against what had not expired.
    for (const [i, op] of this.log.entries())
      if (!this.#refused.has(i + 1)) state.apply(op.op === 'publish' ? { ...op, expected: undefined } : op);
    return { state, applied: this.log.length, isApplying: false };
  }

  #add(proposal: Proposal): void {
    // A deposed leader no longer finds a majority.
    if (proposal.by !== this.leader) return;
    this.#proposals.push(proposal);
    const { world } = this.peers;
    const storeMs = STORE_MS * (0.3 + world.random('store').next()) + this.peers.slowMs(this.name);
    const delayMs = storeMs + this.#majorityMs(proposal.by);
    world.at(world.root, delayMs, 'commit', () => this.#commit(proposal));
  }

  /** Milliseconds until a majority has a proposal. */
  #majorityMs(leader: string): number {
    if (!this.isReplicated) return 0;
    const others = this.servers.filter((server) => server !== leader);
    return Math.min(...others.map((other) => this.peers.delayMs(leader, other) + this.peers.delayMs(other, leader)));
  }

  #commit(proposal: Proposal): void {
    const at = this.#proposals.indexOf(proposal);
    if (at < 0 || this.isGone) return;
    if (!this.#canLead(proposal.by)) {
      this.#again(() => this.#commit(proposal));
      return;
    }
    // Earlier proposals are committed with it.
    for (const each of this.#proposals.splice(0, at + 1)) this.#append(each);
    for (const server of this.servers) this.#apply(server);
  }

  #append({ op, by, settle }: Proposal): void {
    this.log.push(op);
    const upTo = this.log.length;
    if (settle !== undefined) this.#settles.set(upTo, { by, settle });
  }

  readonly #settles = new Map<number, { readonly by: string; readonly settle: Settle }>();

  #apply(server: string): void {
    const replica = this.#replicas.get(server)!;
    if (replica.isApplying || replica.applied === this.log.length || !this.#follows(server)) return;
    if (server === this.leader) {
      this.#applyAll(server, replica);
      return;
    }
    replica.isApplying = true;
    const { world } = this.peers;
    const random = world.random('apply');
    const delayMs = random.int(LAG_ONE_IN) === 0 ? LAG_MS * random.next() : APPLY_MS * random.next();
    world.at(world.root, delayMs, 'apply', () => {
      replica.isApplying = false;
      if (this.#follows(server)) this.#applyAll(server, replica);
    });
  }

  #applyAll(server: string, replica: Replica): void {
    while (replica.applied < this.log.length) {
      const op = this.log[replica.applied]!;
      replica.state.expire(this.peers.wallMs(server));
      const isFirst = replica.applied === this.#appliedMost;
      const applied = replica.state.apply(op);
      replica.applied++;
      const publisher = this.#settles.get(replica.applied);
      if (publisher?.by === server) {
        this.#settles.delete(replica.applied);
        publisher.settle(applied);
      }
      if (isFirst) {
        this.#appliedMost = replica.applied;
        if (applied.kind === 'wrong sequence') this.#refused.add(replica.applied);
        if (op.op === 'publish' && applied.kind === 'stored') this.onStored(op);
      }
      this.onApplied(server);
    }
  }

  /** Whether the leader reaches the server. */
  #follows(server: string): boolean {
    const { leader, peers } = this;
    return peers.isUp(server) && leader !== undefined && peers.isUp(leader) && peers.isWhole(server, leader);
  }

  #canLead(server: string): boolean {
    const { peers } = this;
    if (!peers.isUp(server)) return false;
    const reached = this.servers.filter((other) => peers.isUp(other) && peers.isWhole(server, other));
    return 2 * reached.length > this.servers.length;
  }

  #elected(old: string | undefined): void {
    this.#isElecting = false;
    if (this.isGone) return;
    const able = this.servers.filter((server) => this.#canLead(server));
    const random = this.peers.world.random('election');
    const others = able.filter((server) => server !== old);
    const next = others.length > 0 ? random.pick(others) : able[0];
    this.leader = next;
    if (next === undefined) {
      this.#again(() => this.reconsider());
      return;
    }
    if (next === old) this.#deposed.delete(next);
    // The new leader commits, in order, what the old one had sent it; no publisher receives an answer.
    const inherited = this.#proposals.slice(0, random.int(this.#proposals.length + 1));
    this.#proposals = [];
    for (const { op, by } of inherited) this.#append({ op, by, settle: undefined });
    this.peers.world.note(`${this.name} is led by ${next}, ${inherited.length} in flight`, 'nats');
    this.#catchUp(next);
  }

  /** It serves once it has applied everything inherited. */
  #catchUp(server: string): void {
    const { world } = this.peers;
    const random = world.random('apply');
    const longestMs = random.int(SLOW_CATCH_UP_ONE_IN) === 0 ? SLOW_CATCH_UP_MS : CATCH_UP_MS;
    world.at(world.root, longestMs * random.next(), 'catch up', () => {
      for (const each of this.servers) this.#apply(each);
      if (this.leader === server) this.#applyAll(server, this.#replicas.get(server)!);
    });
  }

  #again(work: () => void): void {
    const { world } = this.peers;
    world.at(world.root, LOOK_AGAIN_MS, 'look again', work);
  }
}

/** Log entries that one server keeps: all that it has, the synced ones, or a number between. */
function keptOf(random: SeededRandom, synced: number, length: number): number {
  const fate = random.int(3);
  return fate === 0 ? length : fate === 1 ? synced : synced + random.int(length - synced + 1);
}
