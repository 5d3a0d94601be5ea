/**
 * Finds logs that may have grown unseen. A process may end right after a write, before its count was read. So each collection's
 * log is asked for its end once after each change of the process that serves it. Later writes show in the counts of open
 * collections.
 *
 * ```text
 * unseen ──asked──▶ seen ──another owner, or another process of the owner──▶ unseen
 *    ▲────no answer────┘
 * ```
 *
 * To answer, an owner that has not counted the log yet reads its end. That takes some tenths of a millisecond.
 */
import type { Clock } from '../../../shared/clock.js';
import { Slice } from '../../../shared/scheduling/slice.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Members } from '../members/members.js';

/** Sequences by collection id. */
export type Sequences = ReadonlyMap<number, number>;

/** Largest number of ends of logs that one look asks for. */
export const HEADS_PER_LOOK = 400;

export class UnseenLogs {
  readonly #unseen = new Set<number>();
  /** Shards with a new process: all their collections are unseen. */
  readonly #restarted = new Set<string>();
  /** Unseen collections, the first to ask at the end; emptied when another one becomes unseen. */
  #order: number[] = [];

  constructor(
    private readonly members: Pick<Members, 'listen' | 'owned' | 'serverOf' | 'ask'>,
    private readonly clock: Clock,
  ) {
    members.listen({
      ownerChanged: (id) => {
        this.#order = [];
        if (members.owned().has(id)) this.#unseen.add(id);
        else this.#unseen.delete(id);
      },
      processChanged: (shard, session) => {
        if (session !== undefined) this.#restarted.add(shard);
      },
    });
  }

  /**
   * The last sequences of some unseen collections. `logged`: the collections of the service log, in the order of their last
   * entries. Collections without an entry come first, then those with the newest entries.
   */
  async sequences(logged: ReadonlyMap<number, unknown>, envelope: Envelope): Promise<Sequences> {
    const byShard = new Map<string, number[]>();
    for (const id of await this.#next(logged)) {
      // A collection without a server becomes unseen again as soon as it has one.
      const shard = this.members.serverOf(id)?.shard;
      if (shard !== undefined) byShard.set(shard, [...(byShard.get(shard) ?? []), id]);
    }
    const found = new Map<number, number>();
    const answers = [...byShard].map(async ([shard, collectionIds]) => {
      const answer = await this.members.ask(shard, { op: 'heads', collectionIds }, envelope).catch(() => undefined);
      for (const [i, id] of collectionIds.entries()) {
        const sequence = answer?.sequences[i] ?? undefined;
        if (sequence !== undefined) found.set(id, sequence);
        else if (this.members.owned().has(id)) this.#unseen.add(id);
      }
    });
    await Promise.all(answers);
    return found;
  }

  async #next(logged: ReadonlyMap<number, unknown>): Promise<number[]> {
    const slice = new Slice(this.clock);
    if (this.#restarted.size > 0) await this.#addRestarted(slice);
    if (this.#order.length === 0) this.#order = await this.#inOrder(logged, slice);
    return this.#order.splice(-HEADS_PER_LOOK).filter((id) => this.#unseen.delete(id));
  }

  async #addRestarted(slice: Slice): Promise<void> {
    const shards = new Set(this.#restarted);
    this.#restarted.clear();
    this.#order = [];
    for (const [id, { shard }] of this.members.owned()) {
      if (shards.has(shard)) this.#unseen.add(id);
      if (slice.step()) await slice.next();
    }
  }

  async #inOrder(logged: ReadonlyMap<number, unknown>, slice: Slice): Promise<number[]> {
    if (this.#unseen.size <= HEADS_PER_LOOK) return [...this.#unseen];
    const order: number[] = [];
    for (const id of logged.keys()) {
      if (this.#unseen.has(id)) order.push(id);
      if (slice.step()) await slice.next();
    }
    for (const id of this.#unseen) {
      if (!logged.has(id)) order.push(id);
      if (slice.step()) await slice.next();
    }
    return order;
  }
}
