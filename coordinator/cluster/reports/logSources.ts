/** The cluster's input to the service log: which collections have changed, and their checkpoints. */
import type { AccessHead, AccessResults, CollectionAccessHead } from '../../../shared/protocol/access.js';
import type { ProofResults } from '../../../shared/protocol/proofs.js';
import type { CallQueue } from '../calls/callQueue.js';
import type { Deletions } from '../deletion/deletions.js';
import type { PlacementContext } from '../placement/context.js';
import { type Sequences, UnseenLogs } from './unseenLogs.js';

const CALL_MS = 5_000;
/** Removed entries are read once. */
const TRIM_MS = 30_000;

export class LogSources {
  readonly #unseen: UnseenLogs;

  constructor(
    private readonly context: Pick<PlacementContext, 'catalog' | 'members' | 'leadership' | 'clock'>,
    private readonly deletions: Deletions,
    private readonly queue: CallQueue,
  ) {
    this.#unseen = new UnseenLogs(context.members, context.clock);
  }

  /** Whether this process certainly holds the lease on placement. */
  get leads(): boolean {
    return this.context.leadership.leads;
  }

  /** The greatest id of a collection so far, as last received here. */
  get greatestId(): number {
    return [...this.context.catalog.all()].reduce(
      (greatest, { id }) => Math.max(greatest, id),
      this.context.members.greatestId,
    );
  }

  /**
   * Whether the catalog lists the collection, or its deletion is on the way into the service log; as last received by this
   * process.
   */
  isListed(collectionId: number): boolean {
    return this.context.catalog.byId(collectionId) !== undefined || this.deletions.isMarked(collectionId);
  }

  /** Whether the collection is not listed. Asks the catalog itself if the collection's name is known. */
  async isMissing(collectionId: number): Promise<boolean> {
    const owned = this.context.members.owned().get(collectionId)?.collection;
    if (owned !== undefined && (await this.context.catalog.isListed(owned))) return false;
    return !this.isListed(collectionId);
  }

  /** Last sequences of the collections in memory, from every shard that answers. */
  async openSequences(): Promise<Sequences> {
    const shards = this.context.members.liveShards();
    const answers = await Promise.allSettled(
      shards.map((shard) => this.context.members.ask(shard, { op: 'openSequences' }, this.#envelope())),
    );
    const open = new Map<number, number>();
    for (const answer of answers)
      if (answer.status === 'fulfilled')
        for (const [i, id] of answer.value.ids.entries()) open.set(id, answer.value.sequences[i]!);
    return open;
  }

  /** The access logs in memory, from every shard that answers. */
  async accessHeads(): Promise<CollectionAccessHead[]> {
    const shards = this.context.members.liveShards();
    const answers = await Promise.allSettled(
      shards.map((shard) => this.context.members.ask(shard, { op: 'accessHeads' }, this.#envelope())),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.heads : []));
  }

  /** The collections whose access logs are kept for a limited time, as last received by this process. */
  withRetention(): number[] {
    const all = [...this.context.catalog.all()];
    return all.filter(({ accessRetentionDays }) => accessRetentionDays !== undefined).map(({ id }) => id);
  }

  /** Removes old entries of an access log, up to those of `covered`. Returns their number. Throws the owner's error. */
  async trimAccess(collectionId: number, { size, chainHead, root }: AccessHead): Promise<number> {
    const call = { op: 'trimAccess', covered: { size, chainHead, root } } as const;
    const answer = await this.queue.send(collectionId, call, this.#envelope(TRIM_MS));
    return (answer as AccessResults['trimAccess']).removed;
  }

  /** Last sequences of some collections that may have grown unseen; see `UnseenLogs.sequences`. */
  unseenSequences(logged: ReadonlyMap<number, unknown>): Promise<Sequences> {
    return this.#unseen.sequences(logged, this.#envelope());
  }

  /** Throws the owner's error. */
  async checkpoint(collectionId: number): Promise<ProofResults['checkpoint']> {
    const answer = await this.queue.send(collectionId, { op: 'checkpoint' }, this.#envelope());
    return answer as ProofResults['checkpoint'];
  }

  /** Erased collections whose deletion may not be in the log. */
  erased(): readonly number[] {
    return this.deletions.erased();
  }

  /** See `Deletions.forgetErased`. */
  forgetErased(collectionId: number): Promise<void> {
    return this.deletions.forgetErased(collectionId);
  }

  #envelope(withinMs = CALL_MS) {
    return { requestId: 'service log', deadlineMs: this.context.clock.nowMs() + withinMs };
  }
}
