/** Where the codes of an index are, for any thread: 3 words a block, in shared memory. */
import type { Arena } from '../../kernel/arena.js';
import { BitSet } from '../../kernel/bitSet.js';
import { type BlockShape, bitmapBytesOf } from '../../kernel/blockShape.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';

/** Words of an entry: arena, or NO_ARENA, address of the codes, address of the bitmap. */
const ENTRY_WORDS = 3;
/** In place of an arena: no row of the block has a code. */
const NO_ARENA = 0xffff_ffff;

/** The codes of a block of rows, and the rows to compare. */
export interface CodedBlock {
  readonly arena: ScratchArena;
  /** Address of the codes. */
  readonly codes: number;
  readonly rows: number;
  readonly firstSlot: number;
  readonly chosen: BitSet;
  /** Address of `chosen` in the arena of the codes; undefined if it is elsewhere. */
  readonly chosenAt: number | undefined;
}

export interface CodesPlace {
  readonly table: SharedArrayBuffer;
  /** Arenas of the codes, by their numbers in the table. */
  readonly arenas: readonly Arena[];
}

/** The codes of a block, and a bitmap of the rows that have one. */
interface PlacedCodes {
  readonly arena: Arena;
  readonly codes: { readonly address: number };
  readonly bitmapAddress: number;
}

/** `blocks`: by the number of the block of rows; undefined for one without codes. */
export function codesPlaceOf(blocks: readonly (PlacedCodes | undefined)[]): CodesPlace {
  const table = new SharedArrayBuffer(blocks.length * ENTRY_WORDS * Uint32Array.BYTES_PER_ELEMENT);
  const words = new Uint32Array(table).fill(NO_ARENA);
  const arenas: Arena[] = [];
  for (let index = 0; index < blocks.length; index++) {
    const block = blocks[index];
    if (block === undefined) continue;
    if (!arenas.includes(block.arena)) arenas.push(block.arena);
    words.set([arenas.indexOf(block.arena), block.codes.address, block.bitmapAddress], index * ENTRY_WORDS);
  }
  return { table, arenas };
}

/** The codes of an index, in the memory of a thread. */
export class CodeTable {
  readonly #words: Uint32Array;

  /** `arenas`: the arenas of the codes, in the order of their numbers. */
  constructor(
    buffer: SharedArrayBuffer,
    private readonly arenas: readonly ScratchArena[],
    private readonly shape: BlockShape,
  ) {
    this.#words = new Uint32Array(buffer);
  }

  /** Yields the blocks with rows to compare: those with a code, optionally only eligible ones. */
  *blocks(eligible: SlotSet | undefined): Generator<CodedBlock> {
    for (let index = 0; index * ENTRY_WORDS < this.#words.length; index++) {
      const [number, codes, bitmap] = this.#words.subarray(index * ENTRY_WORDS, (index + 1) * ENTRY_WORDS);
      if (number === NO_ARENA || eligible?.countIn(index) === 0) continue;
      const arena = this.arenas[number!]!;
      const rows = this.shape.rows(index);
      const coded = new BitSet(
        new Uint32Array(arena.buffer, bitmap, bitmapBytesOf(rows) / Uint32Array.BYTES_PER_ELEMENT),
      );
      const among = eligible?.bitmap(index);
      const chosen = among === undefined ? coded : coded.clone().intersect(among);
      if (chosen.isEmpty) continue;
      const chosenAt = chosen === coded ? bitmap : undefined;
      yield { arena, codes: codes!, rows, firstSlot: this.shape.firstSlot(index), chosen, chosenAt };
    }
  }
}
