/** What the commits of one collection take of its project's capacity and of the shard's memory, before they take place. */
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import type { Quota } from '../quota.js';
import type { CollectionState } from './collectionState.js';
import type { PlanStart } from './framePlan.js';
import type { Journal } from './journal.js';

export class CommitRoom {
  /** Records of the state and of the commit whose outcome is not known yet, at most. */
  #recordsInUse: number;

  constructor(
    private readonly config: CollectionConfig,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly quota: Quota,
    private readonly clock: Clock,
  ) {
    this.#recordsInUse = state.liveRecords;
  }

  get recordsInUse(): number {
    return Math.max(this.#recordsInUse, this.state.liveRecords);
  }

  /** For `records` more, `vectors` of them in blocks of vectors. */
  async take(records: number, vectors: number): Promise<PlanStart> {
    const { config, state, journal } = this;
    const wanted = state.liveRecords + records;
    this.#recordsInUse = wanted;
    const { records: granted, isFinal } =
      records === 0 ? { records: wanted, isFinal: true } : await this.quota.grant(config.project, config.id, wanted);
    // A record that is logged must find its place: the memory is taken before, and refused before.
    state.vectors.reserve(Math.min(vectors, granted));
    return {
      sequence: journal.sequence + 1,
      timeMs: Math.max(this.clock.nowMs(), journal.timeMs),
      headroom: granted - state.liveRecords,
      isHeadroomFinal: isFinal,
    };
  }

  /** After a commit, an outcome that is not known keeps what it may have used. */
  settle(): void {
    if (!this.journal.unsettled) this.#recordsInUse = this.state.liveRecords;
  }
}
