import type { BitSet } from './bitSet.js';
import type { Block } from './block.js';
import type { BlockShape } from './blockShape.js';
import type { SlotSet } from './slotSet.js';

/** The rows of a collection, as a scan needs them. */
export interface ScannedRows {
  readonly dimension: number;
  readonly shape: BlockShape;
  /** The largest sum of components' magnitudes that the kernel's narrow path takes; see `blockShape.ts`. */
  readonly narrowReach: number;
  readonly blocks: readonly Block[];
  readonly liveCount: number;
  readonly idOf: (slot: number) => number;
  /** Keeps all present rows from being overwritten until `endScan` is called with the number returned. */
  beginScan(): number;
  endScan(scan: number): void;
}

/** The rows that a scan is about: the live ones that are in each set given, or those held. */
export interface Among {
  readonly eligible?: SlotSet | undefined;
  /** Live rows to be left out. */
  readonly except?: SlotSet | undefined;
  /** As `eligible`, but all of them are live. */
  readonly within?: SlotSet | undefined;
  /** These rows alone, live or retired. The set must not change while it is scanned. */
  readonly held?: SlotSet | undefined;
}

/**
 * The rows that a scan considers. They change with the collection until `freeze`; from then on they are what they were
 * at that moment, and stay readable until `close`.
 */
export class RowChoice {
  #frozen: { readonly scan: number; readonly rows: readonly (BitSet | undefined)[] } | undefined;

  /** What `rows` returns, of one block after another. */
  #rows: BitSet | undefined;

  constructor(
    private readonly vectors: ScannedRows,
    private readonly among: Among,
  ) {}

  /** An upper bound of how many rows are considered. */
  get most(): number {
    const { eligible, except, within, held } = this.among;
    if (held !== undefined) return held.count;
    const left = (within?.count ?? this.vectors.liveCount) - (except?.count ?? 0);
    return Math.min(left, eligible?.count ?? left);
  }

  /** Blocks from here on hold no row that is considered. */
  get endBlock(): number {
    return (this.#frozen?.rows ?? this.vectors.blocks).length;
  }

  /** True where block `index` holds no row that is considered; false where it may hold one. */
  isEmpty(index: number): boolean {
    if (this.#frozen !== undefined) return this.#frozen.rows[index] === undefined;
    const { eligible, except, within, held } = this.among;
    if (held !== undefined) return held.countIn(index) === 0;
    if (this.vectors.blocks[index]!.live.count === (except?.countIn(index) ?? 0)) return true;
    return eligible?.countIn(index) === 0 || within?.countIn(index) === 0;
  }

  /**
   * The rows of block `index`, which is not empty; its own bitmap where they are all that live. Not to be changed, and valid
   * until the next call.
   */
  rows(index: number): BitSet {
    if (this.#frozen !== undefined) return this.#frozen.rows[index]!;
    const { held, eligible, within, except } = this.among;
    if (held !== undefined) return held.bitmap(index)!;
    const { live } = this.vectors.blocks[index]!;
    const only = eligible?.bitmap(index);
    const without = except?.bitmap(index);
    if (only === undefined && without === undefined && (within?.countIn(index) ?? live.count) === live.count)
      return live;
    this.#rows = this.#rows?.copy(live) ?? live.clone();
    const rows = this.#rows;
    if (only !== undefined) rows.intersect(only);
    if (within !== undefined) rows.intersect(within.bitmap(index)!);
    if (without !== undefined) rows.subtract(without);
    return rows;
  }

  /** Keeps the rows of all blocks as they are now. Once frozen it stays so. */
  freeze(): void {
    this.#frozen ??= {
      rows: this.vectors.blocks.map((_, index) => (this.isEmpty(index) ? undefined : this.rows(index).clone())),
      scan: this.vectors.beginScan(),
    };
  }

  close(): void {
    if (this.#frozen !== undefined) this.vectors.endScan(this.#frozen.scan);
    this.#frozen = undefined;
  }
}
