/** A selection in progress, and the end of it. */
import type { Filter } from '../../shared/model/filter.js';
import { inSlices, type Slice, type Steps } from '../../shared/scheduling/slice.js';
import { BitSet } from '../kernel/bitSet.js';
import type { Analyser } from '../text/analyser.js';
import type { Effort } from './effort.js';
import { RecordFilter, RecordWork } from './recordFilter.js';
import type { WrittenSlots } from './writtenSlots.js';

/** Bound of the work in the last turn, which no write interrupts: a millisecond or two. */
const LAST_TURN_WORK = 2_000_000;

/** A filter, and the slots that it has selected so far. */
export class Selection {
  matching = BitSet.ofSize(1);
  #record: RecordFilter | undefined;

  readonly work: RecordWork;

  constructor(
    readonly filter: Filter,
    private readonly analyser: Analyser,
  ) {
    this.work = new RecordWork(filter, analyser);
  }

  /** Filter for single records, made for the first record that must be judged. */
  get record(): RecordFilter {
    this.#record ??= new RecordFilter(this.filter, this.analyser);
    return this.#record;
  }
}

/**
 * Judges the slots that were written, until few enough are left for the last turn. It always ends, since applying a
 * write costs more than judging it.
 */
export async function catchUp(
  written: WrittenSlots,
  judge: (slot: number) => Steps<number>,
  effort: Effort,
  slice: Slice,
): Promise<void> {
  if (written.work <= LAST_TURN_WORK) return;
  for (const slot of written.taken()) {
    effort.spend(await inSlices(judge(slot), slice));
    if (written.work <= LAST_TURN_WORK) return;
    if (effort.endsStep() && slice.due) await slice.next();
  }
}
