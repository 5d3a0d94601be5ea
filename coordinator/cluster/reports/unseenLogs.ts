/**
 * Asks how far logs reach that may have grown unseen: once for each collection and each process that serves it, because the
 * process before may have ended right after a write. What a process writes later shows while the collection is in its memory.
 *
 *   unseen ──asked──▶ seen ──another owner, or another process of the owner──▶ unseen
 *      ▲────no answer────┘
 *
 * An answer costs the owner a look at the end of a log that it has not counted yet: some tenths of a millisecond.
 */
import type { Clock } from '../../../shared/clock.js';
import { Slice } from '../../../shared/scheduling/slice.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Members } from '../members/members.js';

/** Sequences by collection id. */
export type Sequences = ReadonlyMap<number, number>;

/** The ends of logs that are asked for at a time. */
export const HEADS_PER_LOOK = 400;

export class UnseenLogs {
  readonly #unseen = new Set<number>();
  /** Shards with another process, all of whose collections are unseen. */
  readonly #restarted = new Set<string>();
  /** The unseen ones, those to ask first at the end; empty where others have come since it was made. */
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
   * The last sequences of some unseen collections. `logged`: the collections that the service log has, in the order of their
   * last entries. Those that it does not have come first, then those that were logged last.
   */
  async sequences(logged: ReadonlyMap<number, unknown>, envelope: Envelope): Promise<Sequences> {
    const byShard = new Map<string, number[]>();
    for (const id of await this.#next(logged)) {
      // Without a server it is unseen again as soon as it has one.
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
