import { BitSet } from './bitSet.js';
import type { Block } from './block.js';
import type { BlockShape } from './blockShape.js';
import type { RowsPlace } from './rowTable.js';
import type { SlotSet } from './slotSet.js';

/** The rows of a collection, for a scan. */
export interface ScannedRows {
  readonly dimension: number;
  readonly shape: BlockShape;
  /** Largest sum of components' magnitudes for the kernel's narrow path; see `blockShape.ts`. */
  readonly narrowReach: number;
  readonly blocks: readonly Block[];
  readonly liveCount: number;
  readonly place: RowsPlace;
  readonly idOf: (slot: number) => number;
  /** Keeps all current rows from being overwritten until `endScan` is called with the returned number. */
  beginScan(): number;
  endScan(scan: number): void;
}

/** The rows that a scan considers: the live rows that are in each given set, or exactly those of `only`. */
export interface Among {
  readonly eligible?: SlotSet | undefined;
  /** Live rows to leave out. */
  readonly except?: SlotSet | undefined;
  /** Eligible rows that are known to be live. */
  readonly within?: SlotSet | undefined;
  /** Exactly these rows, live or retired. The set must not change during the scan. */
  readonly only?: SlotSet | undefined;
}

/**
 * The rows that a scan considers. They change with the collection until `freeze`. Frozen rows stay readable until
 * `close`.
 */
export class RowChoice {
  #frozen: { readonly scan: number; readonly rows: readonly (BitSet | undefined)[] } | undefined;

  /** Buffer of `rows`, reused for one block after another. */
  #rows: BitSet | undefined;

  constructor(
    private readonly vectors: ScannedRows,
    private readonly among: Among,
  ) {}

  /** Upper bound of the number of rows. */
  get most(): number {
    const { eligible, except, within, only } = this.among;
    if (only !== undefined) return only.count;
    const left = (within?.count ?? this.vectors.liveCount) - (except?.count ?? 0);
    return Math.min(left, eligible?.count ?? left);
  }

  /** End of the blocks that may hold a row to consider. */
  get endBlock(): number {
    return (this.#frozen?.rows ?? this.vectors.blocks).length;
  }

  /** Returns true if block `index` holds no row to consider; false if it may hold one. */
  isEmpty(index: number): boolean {
    if (this.#frozen !== undefined) return this.#frozen.rows[index] === undefined;
    const { eligible, except, within, only } = this.among;
    if (only !== undefined) return only.countIn(index) === 0;
    if (this.vectors.blocks[index]!.live.count === (except?.countIn(index) ?? 0)) return true;
    return eligible?.countIn(index) === 0 || within?.countIn(index) === 0;
  }

  /**
   * Returns the rows of block `index`, which is not empty. It is the block's own bitmap if all live rows count. Do not
   * change it. It is valid until the next call.
   */
  rows(index: number): BitSet {
    if (this.#frozen !== undefined) return this.#frozen.rows[index]!;
    const { only, eligible, within, except } = this.among;
    if (only !== undefined) return only.bitmap(index)!;
    const { live } = this.vectors.blocks[index]!;
    const chosen = eligible?.bitmap(index);
    const without = except?.bitmap(index);
    if (chosen === undefined && without === undefined && (within?.countIn(index) ?? live.count) === live.count)
      return live;
    this.#rows = this.#rows?.copy(live) ?? live.clone();
    const rows = this.#rows;
    if (chosen !== undefined) rows.intersect(chosen);
    if (within !== undefined) rows.intersect(within.bitmap(index)!);
    if (without !== undefined) rows.subtract(without);
    return rows;
  }

  /** Freezes the rows of all blocks. A second call changes nothing. */
  freeze(): void {
    this.#frozen ??= { rows: this.#copied(), scan: this.vectors.beginScan() };
  }

  /** Copies the rows of all blocks to one buffer: one for each block would take longer than the scan of a few rows. */
  #copied(): readonly (BitSet | undefined)[] {
    const { blocks } = this.vectors;
    const { only } = this.among;
    const words = new Uint32Array(blocks.reduce((sum, { live }) => sum + live.words.length, 0));
    let end = 0;
    return blocks.map((_, index) => {
      if (this.isEmpty(index)) return undefined;
      if (only !== undefined) return only.bitmap(index);
      const rows = this.rows(index).words;
      const copy = words.subarray(end, end + rows.length);
      end += rows.length;
      copy.set(rows);
      return new BitSet(copy);
    });
  }

  close(): void {
    if (this.#frozen !== undefined) this.vectors.endScan(this.#frozen.scan);
    this.#frozen = undefined;
  }
}
