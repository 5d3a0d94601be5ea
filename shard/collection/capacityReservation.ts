/** Reserves the project's quotas and the shard's memory for the commits of one collection, before they take place. */

import type { Clock } from '../../shared/clock.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { type Amount, totalHeld } from '../../shared/model/quotas.js';
import type { Quota } from '../capacity/quota.js';
import type { CollectionState } from '../state/collectionState.js';
import type { PlanStart } from '../state/commitBuilder.js';
import type { Journal } from '../state/journal.js';
import type { Room } from '../state/refusals.js';

/** What a commit brings at most. */
export interface Brought {
  readonly records: number;
  /** Records with vectors, of `records`. */
  readonly vectors: number;
  /** Of `vectors`, those that may take the place of records that are there. */
  readonly replaceable: number;
  /** Bytes by which the collection grows, without the frame around the events; 0: nothing that a quota may refuse. */
  readonly growthBytes: number;
}

export class CapacityReservation {
  /** The most that the state holds, with commits whose outcome is not known yet. */
  #inUse: Amount;

  constructor(
    private readonly config: CollectionConfig,
    private readonly state: CollectionState,
    private readonly journal: Journal,
    private readonly quota: Quota,
    private readonly clock: Clock,
  ) {
    this.#inUse = this.#used;
  }

  /** What must stay reserved. */
  get inUse(): Amount {
    const { records, bytes } = this.#used;
    return { records: Math.max(this.#inUse.records, records), bytes: Math.max(this.#inUse.bytes, bytes) };
  }

  /** Reserves what a commit brings, as far as the quotas allow. */
  async take(brought: Brought): Promise<PlanStart> {
    const { state, journal } = this;
    const { records } = this.#used;
    const wanted = this.#wanted(brought);
    const { inUse } = this;
    this.#inUse = { records: Math.max(inUse.records, wanted.records), bytes: Math.max(inUse.bytes, wanted.bytes) };
    const room = await this.room(brought);
    // Before the append: a logged record must get its memory.
    const accepted = Math.min(brought.vectors, records + room.records + brought.replaceable);
    const rows = Math.min(accepted, Math.floor(room.bytes / (4 * state.dimension)));
    state.vectors.reserve(Math.max(rows, 0));
    return { sequence: journal.sequence + 1, timeMs: Math.max(this.clock.nowMs(), journal.timeMs), room };
  }

  /** What the quotas leave to a commit, which is not reserved for one. */
  async room(brought: Pick<Brought, 'records' | 'growthBytes'>): Promise<Room> {
    const { config, journal } = this;
    const used = this.#used;
    const granted = await this.quota.grant(config.project, config.id, this.#wanted(brought));
    return {
      ...granted,
      records: granted.records - used.records,
      bytes: granted.bytes - used.bytes - journal.frameOverheadBytes,
    };
  }

  /** Called after a commit. A commit of unknown outcome keeps what it may use, until it cannot be stored any more. */
  release(): void {
    if (!this.journal.isUnsettled) this.#inUse = this.#used;
  }

  /** 0 of what a commit brings nothing of: a quota that was lowered below what is used must not be asked for it. */
  #wanted({ records, growthBytes }: Pick<Brought, 'records' | 'growthBytes'>): Amount {
    const used = this.#used;
    return {
      records: records === 0 ? 0 : used.records + records,
      bytes: growthBytes === 0 ? 0 : used.bytes + this.journal.frameOverheadBytes + growthBytes,
    };
  }

  get #used(): Amount {
    const { state, journal } = this;
    return { records: state.liveRecords, bytes: totalHeld(state.heldBytes) + journal.logBytes };
  }
}
