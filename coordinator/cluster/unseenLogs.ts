/**
 * Asks how far logs reach that may have grown unseen: once for each collection and each process that serves it, because the
 * process before may have ended right after a write. What a process writes later shows while the collection is in its memory.
 *
 *   unseen ──asked──▶ seen ──another owner, or another process of the owner──▶ unseen
 *      ▲────no answer────┘
 *
 * An answer costs the owner a look at the end of a log that it has not counted yet: some tenths of a millisecond.
 */
import type { Envelope } from '../../shared/transport/transport.js';
import type { Members } from './members.js';

/** Sequences by collection id. */
export type Sequences = ReadonlyMap<number, number>;

/** The ends of logs that are asked for at a time. */
export const HEADS_PER_LOOK = 400;

export class UnseenLogs {
  readonly #unseen = new Set<number>();
  /** The unseen ones, those to ask first at the end; undefined where others have come since it was made. */
  #order: number[] | undefined;

  constructor(private readonly members: Pick<Members, 'listen' | 'owned' | 'serverOf' | 'ask'>) {
    members.listen({
      ownerChanged: (id) => {
        if (members.owned().has(id)) this.#add(id);
        else this.#unseen.delete(id);
      },
      processChanged: (shard, session) => {
        if (session === undefined) return;
        for (const [id, owned] of members.owned()) if (owned.shard === shard) this.#add(id);
      },
    });
  }

  /**
   * The last sequences of some unseen collections. `logged`: the collections that the service log has, in the order of their
   * last entries. Those that it does not have come first, then those that were logged last.
   */
  async sequences(logged: ReadonlyMap<number, unknown>, envelope: Envelope): Promise<Sequences> {
    const byShard = new Map<string, number[]>();
    for (const id of this.#next(logged)) {
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

  #add(id: number): void {
    this.#unseen.add(id);
    this.#order = undefined;
  }

  #next(logged: ReadonlyMap<number, unknown>): number[] {
    if (this.#order === undefined || this.#order.length === 0) this.#order = this.#inOrder(logged);
    return this.#order.splice(-HEADS_PER_LOOK).filter((id) => this.#unseen.delete(id));
  }

  #inOrder(logged: ReadonlyMap<number, unknown>): number[] {
    const unseen = [...this.#unseen];
    if (unseen.length <= HEADS_PER_LOOK) return unseen;
    const known = [...logged.keys()].filter((id) => this.#unseen.has(id));
    return [...known, ...unseen.filter((id) => !logged.has(id))];
  }
}
