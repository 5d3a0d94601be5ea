import type { Arena } from '../../kernel/arena.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';
import { CODE_GROUP, type CodeShape } from './codeShape.js';
import type { ListChunk } from './invertedList.js';
import type { NearestRows } from './nearestRows.js';

/** Rows for one call of the kernel: the limit is lowered between two calls. */
const ROWS_AT_ONCE = 1024;
/** The same while there is no limit, and every row is found. */
const ROWS_AT_FIRST = 64;
/** Slot and total of a row, u32 each. */
const FOUND_BYTES = (ROWS_AT_ONCE + 2 * CODE_GROUP) * 8;

/**
 * A query that is compared with codes. It is cut with the same shift, or a larger one where its components are larger.
 *
 *   query | its code | slots and totals found
 */
export class CodeQuery {
  readonly #query: Int32Array;
  readonly #largestComponent: number;
  #region: Region | undefined;
  #found: Uint32Array | undefined;
  /** The shift of its code. */
  #shift = -1;

  constructor(
    query: Int32Array,
    private readonly shape: CodeShape,
    private readonly strideBytes: number,
  ) {
    this.#query = query;
    this.#largestComponent = query.reduce((largest, component) => Math.max(largest, Math.abs(component)), 0);
  }

  /** Offers some rows of the chunk from `position` on to `nearest`; returns the position after them. */
  scan(chunk: ListChunk, position: number, nearest: NearestRows, eligible: SlotSet | undefined): number {
    const { arena } = chunk.region;
    const rows = Math.min(nearest.isFull ? ROWS_AT_ONCE : ROWS_AT_FIRST, chunk.end - position);
    const shift = Math.max(chunk.shift, this.shape.shiftFor(chunk.largestComponent + this.#largestComponent));
    const code = this.#codeIn(arena, shift);
    const found = this.#found!;
    const count = arena.kernel.scanList(
      chunk.codeAddress(position),
      chunk.slotsAddress + 4 * position,
      rows,
      this.shape.codeBytes,
      code,
      shift - chunk.shift,
      this.shape.totalWithin(nearest.limit, shift),
      found.byteOffset,
    );
    const unit = 2 ** shift;
    const { margin } = this.shape;
    for (let at = 0; at < 2 * count; at += 2) {
      const slot = found[at]!;
      if (eligible !== undefined && !eligible.has(slot)) continue;
      const distance = Math.sqrt(found[at + 1]!);
      nearest.offer(slot, (distance - margin) * unit, (distance + margin) * unit);
    }
    return position + rows;
  }

  free(): void {
    if (this.#region !== undefined) freeScratch(this.#region);
    this.#region = undefined;
  }

  /** Returns the address of the query's code. */
  #codeIn(arena: Arena, shift: number): number {
    const { codeBytes } = this.shape;
    if (this.#region?.arena !== arena) this.#moveTo(arena);
    const { address } = this.#region!;
    const code = address + this.strideBytes;
    if (this.#shift !== shift) {
      arena.kernel.cutRows(address, this.strideBytes, 1, code, codeBytes, shift, this.shape.differenceMax);
      this.#shift = shift;
    }
    return code;
  }

  #moveTo(arena: Arena): void {
    this.free();
    const region = allocateScratch(arena, this.strideBytes + this.shape.codeBytes + FOUND_BYTES);
    this.#region = region;
    this.#shift = -1;
    new Int32Array(arena.buffer, region.address, this.strideBytes / 4).fill(0).set(this.#query);
    const found = region.address + this.strideBytes + this.shape.codeBytes;
    this.#found = new Uint32Array(arena.buffer, found, FOUND_BYTES / 4);
  }
}
