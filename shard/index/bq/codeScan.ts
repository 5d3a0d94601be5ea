import type { Arena } from '../../kernel/arena.js';
import { type BlockShape, bitmapBytesOf } from '../../kernel/blockShape.js';
import { MovingScratch } from '../../kernel/movingScratch.js';
import { RowChoice } from '../../kernel/rowChoice.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { CodeBlocks } from './codeBlocks.js';

/** Bytes of codes compared between two pauses: up to 2 ms. */
const SLICE_BYTES = 24 << 20;
/** The cost of a row besides its code, in bytes of codes. */
const ROW_BYTES = 12;
/** Slot and distance. */
const ENTRY_WORDS = 2;

/**
 * A search for the rows whose codes differ least from the query's, block by block, of the rows covered at its first step.
 * `close` must be called in any case.
 */
export class CodeScan {
  readonly #choice: RowChoice;
  readonly #wanted: number;
  /** The most entries: those wanted, those of a block, and more, so that far entries are rarely dropped. */
  readonly #capacity: number;
  /** Undefined before the first block is compared. */
  #scratch: CodeScratch | undefined;
  #entries = 0;
  /** Rows with the query's own code, where there are more than wanted: no other row can replace them. */
  readonly #settled: Uint32Array[] = [];
  #next = 0;

  /** `codes` hold the codes of all covered rows. */
  constructor(
    private readonly vectors: VectorBlocks,
    private readonly codes: CodeBlocks,
    private readonly query: Uint32Array,
    wanted: number,
    among: { readonly covered: SlotSet; readonly eligible: SlotSet | undefined },
  ) {
    this.#choice = new RowChoice(vectors, { within: among.covered, eligible: among.eligible });
    this.#wanted = Math.min(wanted, this.#choice.most);
    this.#capacity = 2 * this.#wanted + 2 * vectors.shape.rowsMax;
  }

  /** Compares about `budgetBytes` of codes, at least one block; true when nothing is left to compare. */
  step(budgetBytes = SLICE_BYTES): boolean {
    let spentBytes = 0;
    while (this.#hasNext()) {
      if (spentBytes >= budgetBytes) {
        this.#choice.freeze();
        return false;
      }
      spentBytes += this.#scanBlock(this.#next++);
    }
    return true;
  }

  /** Returns the slots found, ascending, once `step` has returned true. */
  slots(): Uint32Array {
    if (this.#scratch === undefined) return new Uint32Array(0);
    const last = this.#scratch.slots(this.#scratch.keepNearest());
    return this.#settled.length === 0 ? last : joined([...this.#settled, last]);
  }

  close(): void {
    this.#scratch?.free();
    this.#scratch = undefined;
    this.#choice.close();
  }

  #hasNext(): boolean {
    const end = this.#choice.endBlock;
    while (this.#next < end && this.#choice.isEmpty(this.#next)) this.#next++;
    return this.#next < end;
  }

  /** Returns the cost, in bytes. */
  #scanBlock(index: number): number {
    const { region, address } = this.codes.at(index);
    const block = this.vectors.blocks[index]!;
    const scratch = this.#scratchIn(region.arena);
    if (this.#entries + block.rows > this.#capacity) this.#dropFar(scratch, block.rows);
    const rows = this.#choice.rows(index);
    const bitmap =
      rows === block.live && block.region.arena === region.arena ? block.bitmapAddress : scratch.stage(rows);
    this.#entries = region.arena.kernel.scanBits(scratch.address, address, block.rows, bitmap, block.firstSlot);
    return block.rows * (this.query.byteLength + ROW_BYTES);
  }

  #dropFar(scratch: CodeScratch, rows: number): void {
    this.#entries = scratch.keepNearest();
    if (this.#entries + rows <= this.#capacity) return;
    // More entries are left than wanted, so all have the query's code.
    this.#settled.push(scratch.slots(this.#entries));
    scratch.clear();
    this.#entries = 0;
  }

  #scratchIn(arena: Arena): CodeScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new CodeScratch(arena, this.query, this.#wanted, this.#capacity, this.vectors.shape);
    return this.#scratch;
  }
}

/** The scratch of a scan: the code of the query and the rows collected so far. */
class CodeScratch extends MovingScratch {
  constructor(arena: Arena, query: Uint32Array, wanted: number, capacity: number, shape: BlockShape) {
    super(arena, arena.kernel.bitScanBytes(query.byteLength, capacity) >>> 0, bitmapBytesOf(shape.rowsMax));
    const at = arena.kernel.beginBitScan(this.address, query.byteLength, wanted) >>> 0;
    new Uint32Array(arena.buffer, at, query.length).set(query);
  }

  /** Drops the entries that are no longer among the nearest; returns the number left. */
  keepNearest(): number {
    return this.region.arena.kernel.keepNearest(this.region.address);
  }

  /** Returns the slots of the first `count` entries. */
  slots(count: number): Uint32Array {
    const { arena, address } = this.region;
    const words = new Uint32Array(arena.buffer, arena.kernel.bitEntries(address) >>> 0, count * ENTRY_WORDS);
    const slots = new Uint32Array(count);
    for (let i = 0; i < count; i++) slots[i] = words[i * ENTRY_WORDS]!;
    return slots;
  }

  /** Drops all entries. */
  clear(): void {
    this.region.arena.kernel.forgetEntries(this.region.address);
  }
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
