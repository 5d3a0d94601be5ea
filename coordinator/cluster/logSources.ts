/** What the service log is told of the cluster: which collections have changed, and their checkpoints. */
import type { Clock } from '../../shared/clock.js';
import type { ProofResults } from '../../shared/protocol/proofs.js';
import type { CallQueue } from './callQueue.js';
import type { Catalog } from './catalog.js';
import type { Deletions } from './deletions.js';
import type { Leadership } from './leadership.js';
import type { Members } from './members.js';

/** Sequences by collection id. */
export type Sequences = ReadonlyMap<number, number>;

const CALL_MS = 5_000;
/** The ends of so many logs are read in a round, after a start or a failover. */
const UNSEEN_PER_ROUND = 64;

export class LogSources {
  /** The server under which a collection's sequence was last asked for: what it says later is in its memory. */
  readonly #seen = new Map<number, string>();

  constructor(
    private readonly catalog: Catalog,
    private readonly members: Members,
    private readonly leadership: Leadership,
    private readonly deletions: Deletions,
    private readonly queue: CallQueue,
    private readonly clock: Clock,
  ) {}

  /** Whether this process certainly holds the lease on placement. */
  get leads(): boolean {
    return this.leadership.held;
  }

  /** Of the collections in memory, at every shard that answers. */
  async openSequences(): Promise<Sequences> {
    const shards = this.members.liveShards();
    const answers = await Promise.allSettled(
      shards.map((shard) => this.members.ask(shard, { op: 'openSequences' }, this.#envelope())),
    );
    const open = new Map<number, number>();
    for (const answer of answers)
      if (answer.status === 'fulfilled')
        for (const [i, id] of answer.value.ids.entries()) open.set(id, answer.value.sequences[i]!);
    return open;
  }

  /** Of some collections whose server is another one than before: another process may have written to them last. */
  async unseenSequences(): Promise<Sequences> {
    const byShard = new Map<string, { readonly id: number; readonly server: string }[]>();
    let left = UNSEEN_PER_ROUND;
    for (const { id } of this.catalog.all()) {
      const served = this.members.serverOf(id);
      if (served === undefined) continue;
      const server = `${served.shard} ${served.session} ${served.epoch}`;
      if (this.#seen.get(id) === server) continue;
      byShard.set(served.shard, [...(byShard.get(served.shard) ?? []), { id, server }]);
      if (--left === 0) break;
    }
    const found = new Map<number, number>();
    for (const [shard, asked] of byShard) {
      const call = { op: 'heads', collectionIds: asked.map(({ id }) => id) } as const;
      const answer = await this.members.ask(shard, call, this.#envelope()).catch(() => undefined);
      for (const [i, { id, server }] of asked.entries()) {
        const sequence = answer?.sequences[i];
        if (sequence === undefined || sequence === null) continue;
        found.set(id, sequence);
        this.#seen.set(id, server);
      }
    }
    return found;
  }

  /** Throws what the collection's owner throws. */
  async checkpoint(collectionId: number): Promise<ProofResults['checkpoint']> {
    const answer = await this.queue.send(collectionId, { op: 'checkpoint' }, this.#envelope());
    return answer as ProofResults['checkpoint'];
  }

  /** Erased collections whose deletion may not be in the log. */
  erased(): ReadonlySet<number> {
    return this.deletions.erased();
  }

  /** The log tells of the deletion by now, or never had the collection. */
  async forgetErased(collectionId: number): Promise<void> {
    this.#seen.delete(collectionId);
    await this.deletions.forgetErased(collectionId);
  }

  #envelope() {
    return { requestId: 'service log', deadlineMs: this.clock.nowMs() + CALL_MS };
  }
}
