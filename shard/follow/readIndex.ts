/**
 * Asks owners for the read index: the event that their searches see (Ongaro, Consensus: Bridging Theory and Practice,
 * 6.4). A message to an owner asks for all searches that wait at that time. Searches that arrive later wait for the
 * next message. So an owner gets at most one message per round trip from each follower, however many searches there
 * are.
 */
import type { Clock } from '../../shared/clock.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { ShardCall, ShardResults, ShownState } from '../../shared/protocol/calls.js';
import { ask } from '../../shared/protocol/wire.js';
import { shardSubject } from '../../shared/transport/subjects.js';
import type { Transport } from '../../shared/transport/transport.js';

/** Longest wait. A slower owner gets the searches itself, or is not available. */
const ANSWER_MS = 500;

type Shown = ReadonlyMap<number, ShownState | null>;

/** Questions of one message. */
class Round {
  readonly collectionIds = new Set<number>();
  readonly shown: Promise<Shown>;
  answer!: (shown: Shown) => void;
  fail!: (error: unknown) => void;

  constructor() {
    this.shown = new Promise((resolve, reject) => {
      this.answer = resolve;
      this.fail = reject;
    });
  }
}

export class ReadIndex {
  /** Next message to each owner. */
  readonly #next = new Map<string, Round>();
  /** Owners that have not answered the last message yet. */
  readonly #asking = new Set<string>();

  constructor(
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Returns the state that the owner shows at some time after this call; null if it is not the owner. Throws
   * `unavailable`.
   */
  async of(collectionId: number, owner: string): Promise<ShownState | null> {
    let round = this.#next.get(owner);
    if (round === undefined) {
      round = new Round();
      this.#next.set(owner, round);
      // Ask at the end of the turn: searches of one message, and of messages that arrived with it, share a question.
      if (!this.#asking.has(owner)) setImmediate(() => void this.#ask(owner));
    }
    round.collectionIds.add(collectionId);
    return (await round.shown).get(collectionId) ?? null;
  }

  async #ask(owner: string): Promise<void> {
    const round = this.#next.get(owner) as Round;
    this.#next.delete(owner);
    this.#asking.add(owner);
    this.metrics.count('vouch_read_index_messages_total');
    try {
      const collectionIds = [...round.collectionIds];
      const envelope = { requestId: 'follow', deadlineMs: this.clock.nowMs() + ANSWER_MS };
      const call: ShardCall = { op: 'readIndex', collectionIds };
      const { shown } = await ask<ShardResults['readIndex']>(this.transport, shardSubject(owner), call, envelope);
      round.answer(new Map(collectionIds.map((id, i) => [id, shown[i] ?? null])));
    } catch (error) {
      round.fail(error);
    } finally {
      this.#asking.delete(owner);
      if (this.#next.has(owner)) void this.#ask(owner);
    }
  }
}
