import type { SlotSet } from './slotSet.js';
import type { VectorBlocks } from './vectorBlocks.js';

/** Which of the live rows a scan is about. */
export interface Among {
  /** Where given: these and no others. */
  readonly eligible?: SlotSet | undefined;
  /** Not these: live rows, all of them. */
  readonly except?: SlotSet | undefined;
  /** As `eligible`, but live rows, all of them. */
  readonly within?: SlotSet | undefined;
  /** These and no others, live or retired, whatever else is given. Must not change while they are scanned. */
  readonly held?: SlotSet | undefined;
}

/**
 * The rows that a scan considers: live ∧ eligible ∧ within ∧ ¬except, or those held. They change with the collection until `freeze`; from then
 * on they are what they were at that moment, and stay readable until `close`.
 */
export class RowChoice {
  readonly #eligible: SlotSet | undefined;
  readonly #except: SlotSet | undefined;
  readonly #within: SlotSet | undefined;
  readonly #held: SlotSet | undefined;
  #frozen:
    | { readonly scan: number; readonly firstBlock: number; readonly bitmaps: readonly (Uint32Array | undefined)[] }
    | undefined;

  constructor(
    private readonly vectors: VectorBlocks,
    { eligible, except, within, held }: Among,
  ) {
    this.#eligible = eligible;
    this.#except = except;
    this.#within = within;
    this.#held = held;
  }

  /** No more rows than this are considered. */
  get most(): number {
    if (this.#held !== undefined) return this.#held.count;
    const left = (this.#within?.count ?? this.vectors.liveCount) - (this.#except?.count ?? 0);
    return Math.min(left, this.#eligible?.count ?? left);
  }

  /** Blocks from here on hold nothing that is considered. */
  get endBlock(): number {
    const frozen = this.#frozen;
    return frozen === undefined ? this.vectors.blocks.length : frozen.firstBlock + frozen.bitmaps.length;
  }

  /** Whether block `index` holds nothing that is considered; may be false where it does not. */
  isEmpty(index: number): boolean {
    const frozen = this.#frozen;
    if (frozen !== undefined) return frozen.bitmaps[index - frozen.firstBlock] === undefined;
    if (this.#held !== undefined) return this.#held.countIn(index) === 0;
    if (this.vectors.blocks[index]!.liveCount === (this.#except?.countIn(index) ?? 0)) return true;
    return this.#eligible?.countIn(index) === 0 || this.#within?.countIn(index) === 0;
  }

  /** Whether what is considered of block `index` is its live rows, as its own bitmap has them. */
  isAllLive(index: number): boolean {
    if (this.#frozen !== undefined || this.#eligible !== undefined || this.#held !== undefined) return false;
    const { liveCount } = this.vectors.blocks[index]!;
    return (this.#within?.countIn(index) ?? liveCount) === liveCount && (this.#except?.countIn(index) ?? 0) === 0;
  }

  /** Writes the bitmap of block `index`, which is not empty, at the beginning of `into`. */
  write(index: number, into: Uint32Array): void {
    const frozen = this.#frozen;
    if (frozen !== undefined) {
      into.set(frozen.bitmaps[index - frozen.firstBlock]!);
      return;
    }
    if (this.#held !== undefined) {
      into.set(this.#held.bitmap(index)!);
      return;
    }
    const { live } = this.vectors.blocks[index]!;
    const except = this.#except?.bitmap(index);
    into.set(live);
    for (const only of [this.#eligible?.bitmap(index), this.#within?.bitmap(index)])
      if (only !== undefined) for (let i = 0; i < live.length; i++) into[i]! &= only[i]!;
    if (except !== undefined) for (let i = 0; i < live.length; i++) into[i]! &= ~except[i]!;
  }

  /** Whether the row of block `index`, which is not empty, is considered. */
  has(index: number, row: number): boolean {
    const frozen = this.#frozen;
    if (frozen === undefined && this.#held !== undefined) return isSet(this.#held.bitmap(index)!, row);
    const bits = frozen === undefined ? this.vectors.blocks[index]!.live : frozen.bitmaps[index - frozen.firstBlock]!;
    if (!isSet(bits, row)) return false;
    if (frozen !== undefined) return true;
    const isIn = (set: SlotSet | undefined): boolean => {
      const members = set?.bitmap(index);
      return members !== undefined && isSet(members, row);
    };
    if (this.#eligible !== undefined && !isIn(this.#eligible)) return false;
    if (this.#within !== undefined && !isIn(this.#within)) return false;
    return !isIn(this.#except);
  }

  /** Keeps what blocks from `firstBlock` on hold now; those before are done with. Once frozen it stays so. */
  freeze(firstBlock: number): void {
    if (this.#frozen !== undefined) return;
    const bitmaps = this.vectors.blocks.slice(firstBlock).map(({ live }, at) => {
      if (this.isEmpty(firstBlock + at)) return undefined;
      const bitmap = new Uint32Array(live.length);
      this.write(firstBlock + at, bitmap);
      return bitmap;
    });
    this.#frozen = { scan: this.vectors.beginScan(), firstBlock, bitmaps };
  }

  close(): void {
    if (this.#frozen !== undefined) this.vectors.endScan(this.#frozen.scan);
    this.#frozen = undefined;
  }
}

const isSet = (bits: Uint32Array, row: number): boolean => ((bits[row >>> 5]! >>> (row & 31)) & 1) === 1;
