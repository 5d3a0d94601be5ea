/** The rows of one segment of an index: those from the ordinal `first` on. Their ordinals in the segment count from it. */
import type { SlotSet } from '../../kernel/slotSet.js';
import type { BuildRows, OpenOrder } from '../kind.js';
import { NO_SLOT, type Rows } from '../rows.js';

/** Rows taken over between two pauses: about 0.5 ms. */
const ADDED_AT_ONCE = 4096;

/** The rows of a graph: those of its generation, if the index has one segment. */
export type GraphRows = Pick<Rows, 'covered' | 'count' | 'garbage' | 'slotOf' | 'remove'>;

/** Returns the rows of a build from an ordinal on. */
export const rowsFrom = (rows: BuildRows, first: number): BuildRows =>
  first === 0
    ? rows
    : {
        dimension: rows.dimension,
        count: rows.count - first,
        isLive: (ordinal) => rows.isLive(first + ordinal),
        components: (ordinal) => rows.components(first + ordinal),
      };

export class SegmentRows implements GraphRows {
  /** Slots of the rows that are found through the segment. */
  readonly covered: SlotSet;
  #count = 0;

  private constructor(
    private readonly rows: Rows,
    readonly first: number,
  ) {
    this.covered = rows.covered.emptied();
  }

  /** Takes over `count` rows of a generation. */
  static async of(
    { rows, pause }: Pick<OpenOrder, 'rows' | 'pause'>,
    first: number,
    count: number,
  ): Promise<SegmentRows> {
    const some = new SegmentRows(rows, first);
    for (let ordinal = first; ordinal < first + count; ordinal++) {
      some.add(rows.slotOf(ordinal));
      if (ordinal % ADDED_AT_ONCE === 0) await pause();
    }
    return some;
  }

  /** Number of ordinals, including those of rows that are gone. */
  get count(): number {
    return this.#count;
  }

  get garbage(): number {
    return this.#count - this.covered.count;
  }

  slotOf(ordinal: number): number {
    return this.rows.slotOf(this.first + ordinal);
  }

  /** Takes over the next row. `slot`: NO_SLOT if the segment does not find it. */
  add(slot: number): void {
    this.#count++;
    if (slot !== NO_SLOT) this.covered.add(slot);
  }

  /** Removes a row from those that are found through the index. */
  remove(slot: number): number | undefined {
    this.covered.delete(slot);
    return this.rows.remove(slot);
  }
}
