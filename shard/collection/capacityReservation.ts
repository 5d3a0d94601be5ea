/** Reserves quota of the project and memory of the shard for the commits of one collection, before they happen. */

import type { Clock } from '../../shared/clock.js';
import { type Amount, totalHeld } from '../../shared/model/quotas.js';
import type { Quota } from '../capacity/quota.js';
import type { PlanStart } from '../state/commitBuilder.js';
import type { Room } from '../state/refusals.js';
import type { ReplayedCollection } from '../state/replayedCollection.js';

/** Upper bounds of the capacity that a commit takes. */
export interface Brought {
  readonly records: number;
  /** Records with vectors, included in `records`. */
  readonly vectors: number;
  /** Records of `vectors` that may replace existing ones. */
  readonly replaceable: number;
  /** Bytes by which the collection grows, without the frame around the events; 0 if no quota may refuse the commit. */
  readonly growthBytes: number;
}

export class CapacityReservation {
  /** Upper bound of the capacity that the state takes, with commits whose outcome is not known yet. */
  #inUse: Amount;

  constructor(
    private readonly collection: ReplayedCollection,
    private readonly quota: Quota,
    private readonly clock: Clock,
  ) {
    this.#inUse = this.#used;
  }

  /** Amount that must stay reserved. */
  get inUse(): Amount {
    const { records, bytes } = this.#used;
    return { records: Math.max(this.#inUse.records, records), bytes: Math.max(this.#inUse.bytes, bytes) };
  }

  /** Reserves the additions of a commit, as far as the quotas allow. */
  async take(brought: Brought): Promise<PlanStart> {
    const { state, journal } = this.collection;
    const { records } = this.#used;
    const wanted = this.#wanted(brought);
    const { inUse } = this;
    this.#inUse = { records: Math.max(inUse.records, wanted.records), bytes: Math.max(inUse.bytes, wanted.bytes) };
    const room = await this.room(brought);
    // Reserve before the append: a logged record must get its memory.
    const accepted = Math.min(brought.vectors, records + room.records + brought.replaceable);
    const rows = Math.min(accepted, Math.floor(room.bytes / (4 * state.dimension)));
    state.vectors.reserve(Math.max(rows, 0));
    // An expiry that passed just now is removed before the next commit, at its time: this commit is earlier.
    const nowMs = Math.min(this.clock.nowMs(), state.expiries.nextMs - 1);
    return { sequence: journal.sequence + 1, timeMs: Math.max(nowMs, journal.timeMs), room };
  }

  /** Returns the room that the quotas leave to a commit, without reserving it. */
  async room(brought: Pick<Brought, 'records' | 'growthBytes'>): Promise<Room> {
    const { config, journal } = this.collection;
    const used = this.#used;
    const granted = await this.quota.grant(config.project, config.id, this.#wanted(brought));
    return {
      ...granted,
      records: granted.records - used.records,
      bytes: granted.bytes - used.bytes - journal.frameOverheadBytes,
    };
  }

  /** Call it after a commit. A commit of unknown outcome keeps its reservation, until it can no longer be stored. */
  release(): void {
    if (!this.collection.journal.isUnsettled) this.#inUse = this.#used;
  }

  /**
   * Returns the amount to reserve: 0 for a kind that the commit does not add. Then a quota below the use does not
   * refuse it.
   */
  #wanted({ records, growthBytes }: Pick<Brought, 'records' | 'growthBytes'>): Amount {
    const used = this.#used;
    return {
      records: records === 0 ? 0 : used.records + records,
      bytes: growthBytes === 0 ? 0 : used.bytes + this.collection.journal.frameOverheadBytes + growthBytes,
    };
  }

  get #used(): Amount {
    const { state, journal } = this.collection;
    return { records: state.liveRecords, bytes: totalHeld(state.heldBytes) + journal.logBytes };
  }
}
