/** The exact scan of a list of slots: a few eligible rows, or candidates to rank. */
import type { Arena } from './arena.js';
import type { Block } from './block.js';
import type { ScannedRows } from './rowChoice.js';
import { type Hits, hitsOfLength, ScanScratch } from './scanScratch.js';
import { queryBytes } from './slicedScan.js';
import { WIDE_COST } from './way.js';

/** Nanoseconds of a step. */
const STEP_NS = 1_000_000;

/**
 * A search through the rows of a list of slots, in steps. It sees the collection as of its first step. Always call `close`.
 */
export class ListedScan {
  readonly #query: Uint8Array;
  readonly #capacity: number;
  #slots: Uint32Array;
  #at = 0;
  #scratch: ScanScratch | undefined;
  /** Undefined before the second step. */
  #scan: number | undefined;

  /** `slots` must not fall. Repeated slots count once; slots without a live row are skipped. */
  constructor(
    private readonly vectors: ScannedRows,
    query: Int32Array | Uint8Array,
    k: number,
    slots: Uint32Array,
  ) {
    this.#query = queryBytes(query, vectors);
    this.#capacity = Math.min(k, slots.length, vectors.liveCount);
    this.#slots = slots;
  }

  /** Considers the rows of about 1 ms. Returns true when no row is left. */
  step(): boolean {
    const { arenas, table } = this.vectors.place;
    const { shape } = this.vectors;
    const slots = this.#slots;
    const choice = { live: this.#scan === undefined, filters: true };
    let at = this.#at;
    for (let spentNs = 0; at < slots.length && spentNs < STEP_NS; ) {
      const slot = slots[at]!;
      const arena = table.arenaOf(slot);
      // Slots behind the last block have no rows.
      if (arena === undefined) return true;
      const from = at;
      const scratch = this.#scratchIn(arenas[arena]!);
      at = table.offer(scratch, slots, at, choice);
      spentNs += shape.listedNs(at - from, 1) * (table.isWide(slot, scratch) ? WIDE_COST : 1);
    }
    this.#at = at;
    if (at < slots.length) this.#freeze();
    return at >= slots.length;
  }

  /** Returns the rows found, once `step` has returned true. */
  hits(): Hits {
    return this.#scratch?.hits() ?? hitsOfLength(0);
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    if (this.#scan !== undefined) this.vectors.endScan(this.#scan);
    this.#scan = undefined;
  }

  /** Lists the live rows that are left, and keeps them as they are until `close`. */
  #freeze(): void {
    if (this.#scan !== undefined) return;
    this.#slots = liveOf(this.vectors, this.#slots, this.#at);
    this.#at = 0;
    this.#scan = this.vectors.beginScan();
  }

  #scratchIn(arena: Arena): ScanScratch {
    this.#scratch?.moveTo(arena);
    const room = { shape: this.vectors.shape, capacity: this.#capacity, roomBytes: 0 };
    this.#scratch ??= new ScanScratch(arena, this.#query, room);
    return this.#scratch;
  }
}

/** Returns the slots from place `from` on that have a live row, without those that repeat the slot before. */
function liveOf({ blocks, shape }: ScannedRows, slots: Uint32Array, from: number): Uint32Array {
  const live = new Uint32Array(slots.length - from);
  let count = 0;
  let block: Block | undefined;
  let end = 0;
  for (let at = from; at < slots.length; at++) {
    const slot = slots[at]!;
    if (slot === slots[at - 1]) continue;
    if (slot >= end) {
      block = blocks[shape.blockOf(slot)];
      if (block === undefined) break;
      end = block.firstSlot + block.rows;
    }
    if (block!.live.has(slot - block!.firstSlot)) live[count++] = slot;
  }
  return live.subarray(0, count);
}
