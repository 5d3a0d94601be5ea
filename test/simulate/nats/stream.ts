/**
 * A stream and its servers, as nats-server 2.12 and later. The leader proposes; what a majority has is committed, in one order
 * for all; each server applies it when it comes to that.
 *
 *   proposed ──a majority has it──▶ committed ──▶ applied by the leader (and acknowledged) ──▶ applied by the others
 *
 * In a cluster the leader compares an expected sequence as it proposes: it refuses a subject with a message in flight. A new leader
 * serves when it has applied all that it inherited. So no message is refused as it is applied, and no two follow the same one.
 *
 * Oddities of the real servers:
 * - The next leader may commit a proposal of a deposed one, or drop it. Its publisher receives no answer.
 * - A leader that is cut off does not know of the next one for ten seconds, and answers from what it has
 *   (`DEPOSED_MS` in `shared/log/jetStreamLog.ts`).
 * - Any server that has the stream answers a direct get from what it has applied (`shared/log/jetStreamMessages.ts`).
 */
import type { SeededRandom } from '../../soak/random.js';
import type { World } from '../world/world.js';
import { type Applied, type PublishOp, type StreamOp, type StreamSettings, StreamState } from './streamState.js';

/** What a stream needs to know of its servers. */
export interface Peers {
  readonly world: World;
  isUp(server: string): boolean;
  /** Whether messages pass both ways. */
  isWhole(one: string, other: string): boolean;
  delayMs(from: string, to: string): number;
  wallMs(server: string): number;
  /** By how much longer the next message of the stream takes to be stored. */
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
  /** How much of the log it has applied. */
  applied: number;
  isApplying: boolean;
}

/** An election, and the time for which a leader that is cut off does not know of it, in milliseconds. */
const ELECTION_MS = { least: 400, more: 3_000 };
const DEPOSED_MS = 10_000;
/** A new leader applies what was committed before within this; one in so many takes much longer. */
const CATCH_UP_MS = 20;
const SLOW_CATCH_UP_ONE_IN = 4;
const SLOW_CATCH_UP_MS = 400;
/** A follower applies what is committed within this; one in so many takes much longer. */
const APPLY_MS = 2;
const LAG_ONE_IN = 40;
const LAG_MS = 1_500;
const STORE_MS = 0.6;
const LOOK_AGAIN_MS = 100;
/** Stands for the last message of a subject with a proposal in flight. */
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
  /** Told of everything that a server applies. */
  onApplied: (server: string) => void = () => undefined;
  /** Told of each message that is stored, when the first server applies it. */
  onStored: (op: PublishOp) => void = () => undefined;
  /** How much of the log some server has applied. */
  #appliedMost = 0;
  /** How much of the log every server had synced when it was last asked to. */
  #synced = 0;
  /** Places in the log of publications that were refused when they were applied. */
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

  /** Grows with everything that a server applies. */
  appliedAt(server: string): number {
    return this.#replicas.get(server)!.applied;
  }

  /** As the server has applied it; without what has expired by its clock. */
  stateAt(server: string): StreamState {
    const { state } = this.#replicas.get(server)!;
    state.expire(this.peers.wallMs(server));
    return state;
  }

  /** Whether the server takes itself for the leader, and serves. */
  leads(server: string): boolean {
    if (!this.peers.isUp(server) || this.isGone) return false;
    if (this.leader === server) return this.appliedAt(server) === this.log.length;
    return (this.#deposed.get(server) ?? 0) > this.peers.world.nowMs;
  }

  has(server: string): boolean {
    return this.#replicas.has(server);
  }

  /** Proposes at a server that takes itself for the leader. `settle` is called when it has applied it, if it ever does. */
  propose(server: string, op: StreamOp, settle?: Settle): void {
    if (op.op === 'publish' && op.expected !== undefined && this.isReplicated) {
      const { subject, sequence } = op.expected;
      const isInFlight = this.#proposals.some((each) => each.op.op === 'publish' && each.op.subject === subject);
      const last = isInFlight ? IN_FLIGHT : this.stateAt(server).lastOf(subject);
      if (last !== sequence) {
        settle?.({ kind: 'wrong sequence', last });
        return;
      }
      // It was checked; when it is stored it is not checked again.
      this.#add({ op: { ...op, expected: undefined }, by: server, settle });
    } else this.#add({ op, by: server, settle });
  }

  /** The leader goes, by itself or with its server; after a while there is another, where a majority can meet. */
  elect(): void {
    if (this.#isElecting || !this.isReplicated || this.isGone) return;
    this.#isElecting = true;
    const { world } = this.peers;
    const old = this.leader;
    if (old !== undefined) this.#deposed.set(old, world.nowMs + DEPOSED_MS);
    const random = world.random('election');
    world.at(world.root, ELECTION_MS.least + ELECTION_MS.more * random.next(), 'election', () => this.#elected(old));
  }

  /** What is stored by now survives a loss of power. */
  sync(): void {
    this.#synced = this.log.length;
  }

  /**
   * All of its servers, which are down, have lost their power. `isSynced`: they have synced whatever they had acknowledged.
   * Else each has lost some of what came after `sync`, and the log is as long as that of a server which a majority elects.
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

  /** To be called when a server goes or comes, or a way is cut or healed. */
  reconsider(): void {
    if (this.isGone) return;
    const { leader } = this;
    if (leader === undefined || !this.#canLead(leader)) this.elect();
    // A server that starts again does not take itself for a leader.
    for (const server of this.servers) if (!this.peers.isUp(server)) this.#deposed.delete(server);
    for (const server of this.servers) this.#apply(server);
  }

  /** What a server has that reads its log from the beginning. */
  #replayed(): Replica {
    const state = new StreamState(this.settings);
    // What was expected then was compared then, with what had not expired.
    for (const [i, op] of this.log.entries())
      if (!this.#refused.has(i + 1)) state.apply(op.op === 'publish' ? { ...op, expected: undefined } : op);
    return { state, applied: this.log.length, isApplying: false };
  }

  #add(proposal: Proposal): void {
    // A deposed leader finds no majority any more.
    if (proposal.by !== this.leader) return;
    this.#proposals.push(proposal);
    const { world } = this.peers;
    const storeMs = STORE_MS * (0.3 + world.random('store').next()) + this.peers.slowMs(this.name);
    const delayMs = storeMs + this.#majorityMs(proposal.by);
    world.at(world.root, delayMs, 'commit', () => this.#commit(proposal));
  }

  /** Until a majority has it. */
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
    // Those before it are committed with it.
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
      const told = this.#settles.get(replica.applied);
      if (told?.by === server) {
        this.#settles.delete(replica.applied);
        told.settle(applied);
      }
      if (isFirst) {
        this.#appliedMost = replica.applied;
        if (applied.kind === 'wrong sequence') this.#refused.add(replica.applied);
        if (op.op === 'publish' && applied.kind === 'stored') this.onStored(op);
      }
      this.onApplied(server);
    }
  }

  /** Whether it is reached by the leader. */
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
    // What the old leader had sent to the new one, in order, is committed, and nobody is told.
    const inherited = this.#proposals.slice(0, random.int(this.#proposals.length + 1));
    this.#proposals = [];
    for (const { op, by } of inherited) this.#append({ op, by, settle: undefined });
    this.peers.world.note(`${this.name} is led by ${next}, ${inherited.length} in flight`, 'nats');
    this.#catchUp(next);
  }

  /** It serves when it has applied everything that it inherited. */
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

/** How much of its log one server keeps: all that it has, what was synced, or something between. */
function keptOf(random: SeededRandom, synced: number, length: number): number {
  const fate = random.int(3);
  return fate === 0 ? length : fate === 1 ? synced : synced + random.int(length - synced + 1);
}
