import type { Arena } from '../../kernel/arena.js';
import { bitmapBytesOf } from '../../kernel/blockShape.js';
import { RowChoice } from '../../kernel/rowChoice.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { CodeBlocks } from './codeBlocks.js';
import { CodeScratch } from './codeScratch.js';

/** Bytes of codes compared at a stretch: up to 2 ms. */
const SLICE_BYTES = 24 << 20;
/** What a row costs besides the bytes of its code. */
const ROW_BYTES = 12;

/**
 * One search for the rows whose codes differ least from the query's. It goes block by block, and sees what was covered
 * at its first step.
 *
 * `close` must be called in any case.
 */
export class CodeScan {
  readonly #choice: RowChoice;
  readonly #wanted: number;
  /** Entries there is room for: those wanted, a block's, and more, so that they are gone through now and then only. */
  readonly #capacity: number;
  /** Undefined before the first step, and where there is nothing to compare. */
  #scratch: CodeScratch | undefined;
  #entries = 0;
  /** Rows with the query's code, where there are more than wanted: nothing drops them any more. */
  readonly #settled: Uint32Array[] = [];
  #next = 0;

  /** `codes`: of all rows that are covered. */
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
        this.#choice.freeze(this.#next);
        return false;
      }
      spentBytes += this.#scanBlock(this.#next++);
    }
    return true;
  }

  /** Slots found, in rising order, once `step` has returned true. */
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
    if (this.#entries + block.rows > this.#capacity) this.#makeRoom(scratch, block.rows);
    const bitmap =
      this.#choice.isAllLive(index) && block.region.arena === region.arena
        ? block.bitmapAddress
        : scratch.stage((into) => this.#choice.write(index, into));
    this.#entries = region.arena.kernel.scanBits(scratch.address, address, block.rows, bitmap, block.firstSlot);
    return block.rows * (this.query.byteLength + ROW_BYTES);
  }

  #makeRoom(scratch: CodeScratch, rows: number): void {
    this.#entries = scratch.keepNearest();
    if (this.#entries + rows <= this.#capacity) return;
    // More than wanted are left, so all of them have the query's code.
    this.#settled.push(scratch.slots(this.#entries));
    scratch.forget();
    this.#entries = 0;
  }

  #scratchIn(arena: Arena): CodeScratch {
    this.#scratch?.moveTo(arena);
    this.#scratch ??= new CodeScratch(arena, this.query, {
      wanted: this.#wanted,
      capacity: this.#capacity,
      bitmapBytes: bitmapBytesOf(this.vectors.shape.rowsMax),
    });
    return this.#scratch;
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
