/**
 * The way of a call to the collection's owner, or to one of its followers. What arrives for one collection within one turn
 * of the event loop travels in one message and is answered by one; a lone call waits for nobody. Control calls travel
 * alone: one that takes minutes must not keep the answers of others waiting.
 *
 *   send ──▶ queued ──▶ under way ──answered──▶ done
 *              ▲            └──moved, nobody serves, not sent; a read whose answer is lost──▶ parked
 *              └──a little later, or as soon as another owner is known──────────────────────────┘
 *
 * A call is sent again only where the first sending has certainly had no effect, or can have none. After any other
 * failure its outcome is unknown, and only the caller can tell what to do. For control calls:
 * - `configureIndex`, `rebuild`: the state of the index shows whether they took effect; sent again unasked, the one would
 *   meet its own build as a conflict, and the other would build twice.
 * - `hold`, `release`: may be repeated with the same token at will, and whoever holds does so until it is over.
 *
 * A search that may be a little old is asked of a follower, and of the owner where none answers it well and soon.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Call } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors.js';
import { collectionSubject, followersSubject } from '../../shared/subjects.js';
import { AnswerLost } from '../../shared/transport/answerLost.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import { NotSent } from '../../shared/transport/notSent.js';
import type { Envelope, Transport } from '../../shared/transport/transport.js';
import { type Outcome, packCalls, type Sent, unpackOutcomes, unwrap } from '../../shared/wire.js';
import { messagesOf, type Sized } from './callBatches.js';
import { answerSizeOf, sizeOf } from './callSizes.js';
import { CallsUnderWay } from './callsUnderWay.js';
import { mayBeFollowers, verbOfCall, type Way } from './callVerbs.js';
import type { ClusterMetrics } from './clusterMetrics.js';
import type { Members } from './members.js';
import { ParkedCalls } from './parkedCalls.js';

/** How long a call is sent again at most. A move takes a small part of it; a dead shard's collections may take longer. */
const PATIENCE_MS = 3_000;
/** The same of a collection without an owner: it is being made or deleted this moment, or there is no shard. */
const UNOWNED_PATIENCE_MS = 500;
/** What was worked on for so long before it moved had found its owner: its time begins anew. */
const TAKEN_MS = 1_000;
/**
 * Calls that wait for the collections of shards that do not live, or for the connection: more would keep others out for
 * seconds.
 */
const PARKED_MAX = 256;
/** How long the store is waited for, which may have lost its leader. */
const REREAD_MS = 300;
/** A follower that has not answered by then has its work in vain: the owner is asked. */
const FOLLOWERS_MS = 300;
/** How long followers are not asked after none of them has answered in time. */
const FOLLOWERS_REST_MS = 2_000;

type Owners = Pick<Members, 'epochOf' | 'serverOf' | 'hasFollowers' | 'rereadTogether' | 'listen'>;

interface Waiting extends Sent<Call>, Sized {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** When it was first found to be nobody's. */
  parkedMs: number | undefined;
  /** When it was last sent to an owner. */
  sentMs: number;
}

interface Queue {
  readonly collectionId: number;
  readonly way: Way;
  readonly waiting: Waiting[];
}

export class CallQueue {
  /** By collection and way. */
  readonly #queues = new Map<string, Queue>();
  readonly #underWay = new CallsUnderWay();
  readonly #parked = new ParkedCalls<Waiting>((collectionId, calls) => void this.#wake(collectionId, calls));
  /** Collection → until when its followers are left alone. */
  readonly #resting = new Map<number, number>();
  #flushing = false;

  constructor(
    private readonly transport: Pick<Transport, 'request' | 'maxPayloadBytes'>,
    private readonly owners: Owners,
    private readonly clock: Clock,
    private readonly metrics: Pick<ClusterMetrics, 'retried' | 'ended' | 'eventual'>,
  ) {
    owners.listen({
      ownerChanged: (collectionId) => this.#ownerChanged(collectionId),
      processChanged: (shard, session) => this.#processChanged(shard, session),
    });
  }

  /** Calls that wait to be sent again. */
  get parked(): number {
    return this.#parked.count;
  }

  send(collectionId: number, call: Call, envelope: Envelope): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const way = mayBeFollowers(call) && this.#asksFollowers(collectionId) ? 'followers' : verbOfCall(call);
      this.#enqueue(collectionId, way, {
        ...envelope,
        call,
        sizeBytes: sizeOf(call),
        answerBytes: answerSizeOf(call),
        resolve,
        reject,
        parkedMs: undefined,
        sentMs: 0,
      });
    });
  }

  #enqueue(collectionId: number, way: Way, waiting: Waiting): void {
    const key = `${collectionId}.${way}`;
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, { collectionId, way, waiting: [waiting] });
    else queue.waiting.push(waiting);
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = false;
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    for (const queue of queues)
      for (const message of messagesOf(queue.waiting, queue.way, this.transport.maxPayloadBytes))
        void this.#deliver(queue, message);
  }

  async #deliver({ collectionId, way }: Queue, message: readonly Waiting[]): Promise<void> {
    try {
      const outcomes = await (way === 'followers'
        ? this.#askFollowers(collectionId, message)
        : this.#askOwner(collectionId, way, message));
      if (outcomes.length !== message.length) throw unavailable('the shard answered something else than it was asked');
      // Before the outcomes: those that are not done begin to wait anew.
      this.#parked.settled(collectionId);
      for (const [i, waiting] of message.entries()) this.#settle(collectionId, way, waiting, outcomes[i] as Outcome);
    } catch (error) {
      for (const waiting of message) this.#failed(collectionId, way, waiting, error);
    }
  }

  #askOwner(collectionId: number, way: Exclude<Way, 'followers'>, message: readonly Waiting[]): Promise<Outcome[]> {
    const sentMs = this.clock.nowMs();
    let deadlineMs = 0;
    for (const waiting of message) {
      waiting.sentMs = sentMs;
      deadlineMs = Math.max(deadlineMs, waiting.deadlineMs);
    }
    const server = this.owners.serverOf(collectionId);
    // The lease of a shard without a heartbeat is over: it would answer nothing, if at all.
    if (server === undefined) throw new NobodyServes();
    const { requestId } = message[0] as Waiting;
    const subject = collectionSubject(collectionId, server.epoch, way);
    const answer = this.transport.request(subject, packCalls<Call>(message), { requestId, deadlineMs });
    return this.#underWay.awaiting(collectionId, server, way === 'read', answer).then(unpackOutcomes);
  }

  async #askFollowers(collectionId: number, message: readonly Waiting[]): Promise<Outcome[]> {
    const untilMs = this.clock.nowMs() + FOLLOWERS_MS;
    // A follower that begins later need not begin.
    const calls = message.map(({ requestId, deadlineMs, call }) => ({
      requestId,
      deadlineMs: Math.min(deadlineMs, untilMs),
      call,
    }));
    const { requestId } = message[0] as Waiting;
    const envelope = { requestId, deadlineMs: untilMs };
    try {
      return unpackOutcomes(await this.transport.request(followersSubject(collectionId), packCalls(calls), envelope));
    } catch (error) {
      if (!(error instanceof NobodyServes)) this.#resting.set(collectionId, untilMs + FOLLOWERS_REST_MS);
      throw error;
    }
  }

  #settle(collectionId: number, way: Way, waiting: Waiting, outcome: Outcome): void {
    const isFollowers = way === 'followers';
    // What a follower refuses it may not have heard of yet.
    if (isFollowers && !('ok' in outcome)) this.#failed(collectionId, way, waiting, new NobodyServes());
    else if ('moved' in outcome) this.#again(collectionId, waiting, new NobodyServes());
    else {
      if (mayBeFollowers(waiting.call)) this.metrics.eventual(isFollowers ? 'follower' : 'owner');
      try {
        waiting.resolve(unwrap(outcome));
      } catch (error) {
        waiting.reject(error);
      }
    }
  }

  #failed(collectionId: number, way: Way, waiting: Waiting, error: unknown): void {
    const isLost = error instanceof AnswerLost;
    if (isLost) this.metrics.ended(verbOfCall(waiting.call));
    if (way === 'followers') this.#enqueue(collectionId, 'read', waiting);
    else if (error instanceof NobodyServes || error instanceof NotSent || (isLost && way === 'read'))
      this.#again(collectionId, waiting, error);
    else waiting.reject(error);
  }

  #again(collectionId: number, waiting: Waiting, reason: NobodyServes | NotSent | AnswerLost): void {
    const nowMs = this.clock.nowMs();
    if (waiting.parkedMs === undefined || nowMs - waiting.sentMs >= TAKEN_MS) waiting.parkedMs = nowMs;
    const patienceMs = this.owners.epochOf(collectionId) === undefined ? UNOWNED_PATIENCE_MS : PATIENCE_MS;
    const isOverdue = nowMs >= Math.min(waiting.deadlineMs, waiting.parkedMs + patienceMs);
    const isAway = reason instanceof NotSent || this.owners.serverOf(collectionId) === undefined;
    const isCrowded = isAway && this.#parked.count >= PARKED_MAX;
    if (isOverdue || isCrowded) {
      this.#parked.settled(collectionId);
      waiting.reject(reason);
      return;
    }
    this.metrics.retried(verbOfCall(waiting.call));
    this.#parked.add(collectionId, waiting);
  }

  /** They have waited: perhaps another owner is known at the store and not told here yet. */
  async #wake(collectionId: number, calls: readonly Waiting[]): Promise<void> {
    // Where the store does not say soon, whoever was the owner is asked: it knows whether it is.
    const reread = this.owners.rereadTogether(collectionId).catch(() => undefined);
    await Promise.race([reread, delay(REREAD_MS, undefined, { ref: false })]);
    this.#sendAgain(collectionId, calls);
  }

  #sendAgain(collectionId: number, calls: readonly Waiting[]): void {
    for (const waiting of calls) this.#enqueue(collectionId, verbOfCall(waiting.call), waiting);
  }

  #ownerChanged(collectionId: number): void {
    this.#underWay.ownerChanged(collectionId, this.owners.epochOf(collectionId));
    this.#sendAgain(collectionId, this.#parked.take(collectionId));
  }

  #processChanged(shard: string, session: string | undefined): void {
    this.#underWay.processChanged(shard, session);
    if (session === undefined) return;
    for (const collectionId of this.#parked.collectionIds())
      if (this.owners.serverOf(collectionId)?.shard === shard)
        this.#sendAgain(collectionId, this.#parked.take(collectionId));
  }

  #asksFollowers(collectionId: number): boolean {
    if (!this.owners.hasFollowers(collectionId)) return false;
    const untilMs = this.#resting.get(collectionId);
    if (untilMs === undefined) return true;
    if (this.clock.nowMs() < untilMs) return false;
    this.#resting.delete(collectionId);
    return true;
  }
}
