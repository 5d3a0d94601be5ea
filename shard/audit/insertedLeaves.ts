/** The leaves of the inserts of a frame. Four of one size that follow each other are hashed together, in half the time. */
import { TOGETHER } from '../../shared/hashing/longHash.js';
import { HASH_BYTES } from '../../shared/limits.js';
import type { Event, Insert, InsertUnderKey } from '../../shared/log/event.js';
import { leavesTogether } from './leaf.js';

const isInsert = (event: Event): event is Insert | InsertUnderKey =>
  event.type === 'insert' || event.type === 'insertUnderKey';

export class InsertedLeaves {
  /** The leaves of TOGETHER inserts from `#first` on. */
  #leaves: Uint8Array | undefined;
  #first = 0;

  constructor(private readonly events: readonly Event[]) {}

  /** Returns the leaf of the event; undefined if it is not hashed together with others. Indexes must ascend from call to call. */
  at(index: number): Uint8Array | undefined {
    if (this.#leaves === undefined || index >= this.#first + TOGETHER) {
      this.#leaves = undefined;
      if (index + TOGETHER > this.events.length) return undefined;
      const group = this.events.slice(index, index + TOGETHER);
      if (group.every(isInsert)) this.#leaves = leavesTogether(group);
      this.#first = index;
    }
    const at = (index - this.#first) * HASH_BYTES;
    return this.#leaves?.subarray(at, at + HASH_BYTES);
  }
}
