/**
 * Sends calls to the owner of a collection, or to one of its followers. Calls that arrive for one collection at nearly one
 * time travel in one message and get one answer: see `messageQueues.ts`. A call that may take long travels alone. So it delays
 * no other answer.
 *
 * ```text
 * send ──▶ queued ──▶ in flight ──answered──▶ done
 *            ▲            └──moved, no server, not sent; a read whose answer is lost──▶ waiting
 *            └──after a short delay, or as soon as another owner is known─────────────────┘
 * ```
 *
 * A call is sent again only if the first attempt certainly had no effect, or can have none. After any other failure the
 * outcome is unknown, and only the caller can decide. Control calls are not sent again:
 * - After `configureIndex` and `rebuild` the state of the index shows whether they took effect. A repeated `configureIndex` would
 *   conflict with its own build. A repeated `rebuild` would build twice.
 * - The sender of `hold` and `release` itself repeats them with one token until it is done.
 *
 * A search may go to a follower (see `followerRoutes.ts`), and goes to the owner if no follower answers it well and soon.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../../shared/clock.js';
import { unavailable } from '../../../shared/errors/errors.js';
import type { Metrics } from '../../../shared/metrics/metrics.js';
import type { Call } from '../../../shared/protocol/calls.js';
import { type Outcome, packCalls, type Sent, unpackOutcomes, unwrap } from '../../../shared/protocol/wire.js';
import { noteWork } from '../../../shared/scheduling/currentWork.js';
import { BACKOFF, nextDelayMs } from '../../../shared/scheduling/retry.js';
import { collectionSubject, type Verb } from '../../../shared/transport/subjects.js';
import type { Body, Envelope, Transport } from '../../../shared/transport/transport.js';
import { AnswerLost, NotSent, NotServed } from '../../../shared/transport/transportErrors.js';
import type { Members, Server } from '../members/members.js';
import {
  answerSizeOf,
  isStrongSearch,
  mayAskFollowers,
  searchesIn,
  sizeOf,
  travelsAlone,
  verbOfCall,
} from './callTraits.js';
import { type FollowerRoute, FollowerRoutes } from './followerRoutes.js';
import { type CallRoute, type MessageQueue, MessageQueues, type Way } from './messageQueues.js';
import { OpenKeys } from './openKeys.js';
import { type CallInHand, SearchLoad } from './searchLoad.js';

const CALLS_PER_MESSAGE = 64;
/** Longest time for which a call is sent again. A move takes a small part of it; a failover may take longer. */
const RETRY_MS = 3_000;
/** Longest time for which a call is sent again where no shard owns the collection: it is being created or deleted, or no shard lives. */
const UNOWNED_RETRY_MS = 500;
/** A call that was in flight for longer when its collection moved had certainly reached the owner. Its retry time restarts. */
const ACCEPTED_MS = 1_000;
/** Limit of calls that wait for a shard without a heartbeat, or for the connection. More would shut out new calls for seconds. */
const RETRIED_MAX = 256;
/** Longest wait for a lookup of the owner, before the retry proceeds without it: the store may have lost its leader. */
const REREAD_MS = 300;

interface PendingCall extends Sent<Call> {
  readonly sizeBytes: number;
  readonly answerBytes: number;
  /** See `travelsAlone`. */
  readonly isAlone: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** When its retry time began; undefined until it is first sent again. */
  retryFromMs: number | undefined;
  /** When it was last sent to an owner. */
  sentMs: number;
  /** Present while a shard works on it, if it is a strong search. */
  inHand: CallInHand | undefined;
}

/** A message to an owner that is not answered yet. */
interface InFlightMessage {
  readonly collectionId: number;
  readonly server: Server;
  readonly route: Verb;
  readonly reject: (error: AnswerLost) => void;
}

/** The calls of one collection that wait to be sent again: one timer for all of them. */
interface WaitingCalls {
  calls: PendingCall[];
  delayMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class CallQueue {
  readonly #queues: MessageQueues<PendingCall>;
  readonly #inFlight = new Set<InFlightMessage>();
  readonly #waiting = new Map<number, WaitingCalls>();
  /** Unfinished calls that were sent again. Each keeps its place until it ends; otherwise new calls would take it. */
  readonly #retried = new Set<PendingCall>();
  readonly #load: SearchLoad;
  readonly #followers: FollowerRoutes;
  readonly #openKeys: OpenKeys;

  constructor(
    private readonly transport: Pick<Transport, 'request' | 'maxPayloadBytes'>,
    private readonly owners: Pick<Members, 'epochOf' | 'serverOf' | 'liveFollowers' | 'ownersCaughtUp' | 'listen'>,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {
    this.#queues = new MessageQueues((queue) => this.#sendAll(queue));
    this.#load = new SearchLoad(clock);
    this.#followers = new FollowerRoutes(owners, this.#load, clock);
    this.#openKeys = new OpenKeys(owners);
    owners.listen({
      ownerChanged: (collectionId) => this.#ownerChanged(collectionId),
      processChanged: (shard, session) => this.#processChanged(shard, session),
    });
  }

  /** The number of calls that wait to be sent again. */
  get waiting(): number {
    let count = 0;
    for (const { calls } of this.#waiting.values()) count += calls.length;
    return count;
  }

  /**
   * Resolves to the call's result. Throws what the owner throws, `unavailable` if no answer arrives in time. `isErasable`: whether
   * the collection is `erasable`.
   */
  send(
    collectionId: number,
    call: Call,
    { requestId, deadlineMs, actor, onAudited }: Envelope,
    isErasable = false,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const route = this.#followers.routeOf(collectionId, call) ?? verbOfCall(call);
      this.#enqueue(collectionId, route, {
        requestId,
        deadlineMs,
        call,
        onAudited,
        resolve,
        reject,
        actor: route === 'write' ? actor : undefined,
        sizeBytes: sizeOf(call),
        answerBytes: answerSizeOf(call),
        isAlone: travelsAlone(call, isErasable),
        retryFromMs: undefined,
        sentMs: 0,
        inHand: undefined,
      });
    });
  }

  #enqueue(collectionId: number, route: CallRoute, call: PendingCall): void {
    const shard = typeof route === 'string' ? this.owners.serverOf(collectionId)?.shard : route.shard;
    if (shard !== undefined && isStrongSearch(call.call))
      call.inHand = this.#load.begin(collectionId, shard, searchesIn(call.call));
    const isAlone = call.isAlone || this.#openKeys.mayAwaitVault(collectionId, call.call);
    if (isAlone) void this.#deliver({ collectionId, route }, [call]);
    else this.#queues.push(collectionId, route, call);
  }

  #sendAll(queue: MessageQueue<PendingCall>): Promise<unknown> {
    const messages = [...messagesOf(queue, this.transport.maxPayloadBytes)];
    return Promise.all(messages.map((calls) => this.#deliver(queue, calls)));
  }

  async #deliver({ collectionId, route }: Way, calls: readonly PendingCall[]): Promise<void> {
    try {
      const answer = await (typeof route === 'string'
        ? this.#askOwner(collectionId, route, calls)
        : this.#askFollowers(route, calls));
      noteWork(calls[0]?.call.op ?? 'answer');
      const outcomes = unpackOutcomes(answer);
      if (outcomes.length !== calls.length) throw unavailable('the answer of the shard does not fit its calls');
      // Reset the delays first: the handling of some outcomes begins a new wait.
      this.#endDelays(collectionId);
      this.#loadEnds(
        calls,
        outcomes.every((outcome) => 'ok' in outcome),
      );
      for (const [i, call] of calls.entries()) this.#settle(collectionId, route, call, outcomes[i] as Outcome);
    } catch (error) {
      this.#loadEnds(calls, false);
      for (const call of calls) this.#fail(collectionId, route, call, error);
    }
  }

  #loadEnds(calls: readonly PendingCall[], isAnswered: boolean): void {
    const ended: CallInHand[] = [];
    for (const call of calls) {
      if (call.inHand === undefined) continue;
      ended.push(call.inHand);
      call.inHand = undefined;
    }
    if (ended.length > 0) this.#load.end(ended, isAnswered);
  }

  #askOwner(collectionId: number, route: Verb, calls: readonly PendingCall[]): Promise<Body> {
    const sentMs = this.clock.nowMs();
    let deadlineMs = 0;
    for (const call of calls) {
      call.sentMs = sentMs;
      deadlineMs = Math.max(deadlineMs, call.deadlineMs);
    }
    const server = this.owners.serverOf(collectionId);
    // A shard without a heartbeat has no lease any more, so it would answer nothing.
    if (server === undefined) throw new NotServed();
    const { requestId } = calls[0] as PendingCall;
    const subject = collectionSubject(collectionId, server.epoch, route);
    const answer = this.transport.request(subject, packCalls<Call>(calls), { requestId, deadlineMs });
    return new Promise((resolve, reject) => {
      const message = { collectionId, server, route, reject };
      this.#inFlight.add(message);
      answer.then(
        (body) => {
          this.#inFlight.delete(message);
          resolve(body);
        },
        (error: unknown) => {
          this.#inFlight.delete(message);
          reject(error);
        },
      );
    });
  }

  async #askFollowers(route: FollowerRoute, calls: readonly PendingCall[]): Promise<Body> {
    const nowMs = this.clock.nowMs();
    const latestMs = Math.max(...calls.map(({ deadlineMs }) => deadlineMs));
    // The follower gets at most half of the remaining time: the owner may have to answer after it.
    const untilMs = nowMs + Math.min(this.#followers.withinMs(route), (latestMs - nowMs) / 2);
    // A follower that has not begun by then need not begin.
    const sent = calls.map(({ requestId, deadlineMs, call }) => ({
      requestId,
      deadlineMs: Math.min(deadlineMs, untilMs),
      call,
    }));
    const { requestId } = calls[0] as PendingCall;
    const envelope = { requestId, deadlineMs: untilMs };
    try {
      return await this.transport.request(route.subject, packCalls(sent), envelope);
    } catch (error) {
      if (!(error instanceof NotServed) || route.shard !== undefined) this.#followers.pause(route);
      throw error;
    }
  }

  #settle(collectionId: number, route: CallRoute, call: PendingCall, outcome: Outcome): void {
    const isFollower = typeof route !== 'string';
    if (isFollower && !('ok' in outcome)) {
      if ('moved' in outcome && route.shard !== undefined) this.#followers.pause(route);
      // A follower may refuse what it has not received yet: the owner decides.
      this.#fail(collectionId, route, call, new NotServed());
    } else if ('moved' in outcome) this.#retry(collectionId, call, new NotServed());
    else {
      const by = isFollower ? 'follower' : 'owner';
      if (mayAskFollowers(call.call)) this.metrics.count('vouch_eventual_reads_total', { by });
      else if (isStrongSearch(call.call)) this.metrics.count('vouch_strong_searches_total', { by });
      this.#retried.delete(call);
      if (outcome.audited !== undefined) call.onAudited?.(outcome.audited);
      if ('ok' in outcome) this.#openKeys.answered(collectionId, call.call);
      try {
        call.resolve(unwrap(outcome));
      } catch (error) {
        call.reject(error);
      }
    }
  }

  #fail(collectionId: number, route: CallRoute, call: PendingCall, error: unknown): void {
    const isLost = error instanceof AnswerLost;
    if (isLost) this.metrics.count('vouch_calls_aborted_total', { verb: verbOfCall(call.call) });
    if (typeof route !== 'string') this.#enqueue(collectionId, 'read', call);
    else if (error instanceof NotServed || error instanceof NotSent || (isLost && route === 'read'))
      this.#retry(collectionId, call, error);
    else this.#reject(call, error);
  }

  #retry(collectionId: number, call: PendingCall, reason: NotServed | NotSent | AnswerLost): void {
    const nowMs = this.clock.nowMs();
    if (call.retryFromMs === undefined || nowMs - call.sentMs >= ACCEPTED_MS) call.retryFromMs = nowMs;
    const retryMs = this.owners.epochOf(collectionId) === undefined ? UNOWNED_RETRY_MS : RETRY_MS;
    const isOverdue = nowMs >= Math.min(call.deadlineMs, call.retryFromMs + retryMs);
    const isAway = reason instanceof NotSent || this.owners.serverOf(collectionId) === undefined;
    const isFull = isAway && !this.#retried.has(call) && this.#retried.size >= RETRIED_MAX;
    if (isOverdue || isFull) {
      this.#endDelays(collectionId);
      this.#reject(call, reason);
      return;
    }
    this.metrics.count('vouch_calls_retried_total', { verb: verbOfCall(call.call) });
    this.#retried.add(call);
    this.#wait(collectionId, call);
  }

  #reject(call: PendingCall, error: unknown): void {
    this.#retried.delete(call);
    call.reject(error);
  }

  #wait(collectionId: number, call: PendingCall): void {
    let waiting = this.#waiting.get(collectionId);
    if (waiting === undefined) {
      waiting = { calls: [], delayMs: BACKOFF.call.firstMs, timer: undefined };
      this.#waiting.set(collectionId, waiting);
    }
    waiting.calls.push(call);
    if (waiting.timer !== undefined) return;
    waiting.timer = setTimeout(() => void this.#lookUpAndResend(collectionId), waiting.delayMs);
    waiting.delayMs = nextDelayMs(BACKOFF.call, waiting.delayMs);
  }

  /** The collection's calls are answered or rejected: the next delays begin with the shortest again. */
  #endDelays(collectionId: number): void {
    if (this.#waiting.get(collectionId)?.calls.length === 0) this.#waiting.delete(collectionId);
  }

  /** Waits for the current owner entry before the calls are sent again: this process may not have received it yet. */
  async #lookUpAndResend(collectionId: number): Promise<void> {
    const calls = this.#takeWaiting(collectionId);
    // If the store does not answer soon, the calls go to the last known owner, which knows whether it still is.
    const caughtUp = this.owners.ownersCaughtUp().catch(() => undefined);
    await Promise.race([caughtUp, delay(REREAD_MS, undefined, { ref: false })]);
    this.#resend(collectionId, calls);
  }

  #takeWaiting(collectionId: number): readonly PendingCall[] {
    const waiting = this.#waiting.get(collectionId);
    if (waiting === undefined) return [];
    clearTimeout(waiting.timer);
    waiting.timer = undefined;
    const { calls } = waiting;
    waiting.calls = [];
    return calls;
  }

  #resend(collectionId: number, calls: readonly PendingCall[]): void {
    for (const call of calls) this.#enqueue(collectionId, verbOfCall(call.call), call);
  }

  /**
   * Another epoch has begun. A former owner that lives answers every write it has accepted, so writes still wait for it.
   * It may answer no more reads: they are sent to the new owner.
   */
  #ownerChanged(collectionId: number): void {
    const epoch = this.owners.epochOf(collectionId);
    for (const message of this.#inFlight)
      if (message.route === 'read' && message.collectionId === collectionId && message.server.epoch !== epoch)
        this.#lose(message);
    this.#resend(collectionId, this.#takeWaiting(collectionId));
  }

  /** The shard's process has ended or is another one: no message waits for an answer that cannot come. */
  #processChanged(shard: string, session: string | undefined): void {
    for (const message of this.#inFlight)
      if (message.server.shard === shard && message.server.session !== session) this.#lose(message);
    if (session === undefined) return;
    for (const collectionId of this.#waiting.keys())
      if (this.owners.serverOf(collectionId)?.shard === shard)
        this.#resend(collectionId, this.#takeWaiting(collectionId));
  }

  #lose(message: InFlightMessage): void {
    this.#inFlight.delete(message);
    message.reject(new AnswerLost('the shard that was asked is gone'));
  }
}

/** Divides queued calls, in order, so that both the calls and their answers fit into one message each. */
function* messagesOf({ calls }: MessageQueue<PendingCall>, maxBytes: number): Generator<PendingCall[]> {
  let message: PendingCall[] = [];
  let sizeBytes = 0;
  let answerBytes = 0;
  for (const call of calls) {
    sizeBytes += call.sizeBytes;
    answerBytes += call.answerBytes;
    const isFull = message.length === CALLS_PER_MESSAGE || sizeBytes > maxBytes || answerBytes > maxBytes;
    if (isFull && message.length > 0) {
      yield message;
      message = [];
      ({ sizeBytes, answerBytes } = call);
    }
    message.push(call);
  }
  yield message;
}
