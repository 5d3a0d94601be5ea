/** Matches the records of a collection one by one, by their present metadata and texts. */
import type { Filter } from '../../shared/model/filter.js';
import { inSlices, type Slice } from '../../shared/scheduling/slice.js';
import { RecordFilter } from '../metadata/recordFilter.js';
import type { CollectionState } from '../state/collectionState.js';

export class SlotFilter {
  readonly #record: RecordFilter;
  /** Whether `analyse` must run before `matches`. */
  readonly isSlow: boolean;

  constructor(
    private readonly state: CollectionState,
    filter: Filter,
  ) {
    this.#record = new RecordFilter(filter, state.texts.analyser);
    this.isSlow = this.#record.isSlow;
  }

  /** Whether the live record at the slot matches. */
  matches(slot: number): boolean {
    return this.#record.matches(this.state.metadataAt(slot), this.#textAt(slot));
  }

  /** Finds the terms of the record in slices, for `matches`. If the record is written in between, `matches` finds them again. */
  analyse(slot: number, slice: Slice): Promise<void> {
    return inSlices(this.#record.analyse(this.state.metadataAt(slot), this.#textAt(slot)), slice);
  }

  #textAt(slot: number): Uint8Array | null {
    return this.#record.readsText ? this.state.textAt(slot) : null;
  }
}
