/** Searches of codes in a message to a thread, and a search that any thread can make. */
import { atOnce } from '../../../shared/scheduling/slice.js';
import { Arena } from '../../kernel/arena.js';
import { BlockShape } from '../../kernel/blockShape.js';
import { RowTable } from '../../kernel/rowTable.js';
import type { Hits } from '../../kernel/scanScratch.js';
import { SlotSet } from '../../kernel/slotSet.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import { type LentTable, lentIn, packQueries, type SearchResult, slotsIn, unpackQueries } from '../batchForm.js';
import { CodeQuery, SLICE_BYTES } from './codeScan.js';
import { CodeTable } from './codeTable.js';

/** Largest memory of the rows that a thread keeps during a search. */
const KEPT_BYTES_MAX = 2 ** 30;

/** The order for a search of codes. */
export interface CodesSearch {
  /** Components of the query. */
  readonly query: Int32Array;
  /** The query, rotated like the codes. */
  readonly rotated: Float32Array;
  readonly k: number;
  /** Number of rows that are measured. */
  readonly wanted: number;
  /** Bitmap of the eligible slots; empty if all slots are eligible. */
  readonly eligible: Uint32Array;
}

/** Codes and rows, in the memory of a thread. */
export interface SearchedCodes {
  readonly shape: BlockShape;
  readonly codes: CodeTable;
  readonly table: RowTable;
  /** Arenas of the rows, by their numbers in the table. */
  readonly arenas: readonly ScratchArena[];
  /** Memory for the rows that seem nearest; undefined for that of the codes. */
  readonly keptIn: ScratchArena | undefined;
}

/** The message of a batch. */
export interface CodesBatch {
  readonly kind: 'bq';
  readonly dimension: number;
  readonly rows: LentTable;
  readonly codes: LentTable;
  /** Result of `packCodesSearches`. */
  readonly searches: Int32Array;
}

/** Searches in steps of about 1 ms. Throws `unavailable` and `capacity_exceeded` if memory is short. */
export function* searchCodes(searched: SearchedCodes, search: CodesSearch): Generator<undefined, Hits> {
  const slots = yield* nearestByCodes(searched, search);
  return yield* searched.table.nearest(searched.arenas, search.query, search.k, slots);
}

function* nearestByCodes(
  { shape, codes, keptIn }: SearchedCodes,
  { rotated, wanted, eligible }: CodesSearch,
): Generator<undefined, Uint32Array> {
  const slots = slotsIn(eligible);
  const query = new CodeQuery(rotated, wanted, shape, keptIn);
  try {
    let spentBytes = 0;
    for (const block of codes.blocks(slots && SlotSet.of(shape, slots))) {
      if (spentBytes >= SLICE_BYTES) {
        yield;
        spentBytes = 0;
      }
      spentBytes += query.compare(block);
    }
    return query.slots();
  } finally {
    query.free();
  }
}

/** Memory of this thread for the rows that seem nearest. */
let kept: Arena | undefined;

/** Makes the searches of a batch, with scratch in the lent memory. */
export function searchCodesOf(lent: readonly ScratchArena[], batch: CodesBatch): SearchResult[] {
  const shape = new BlockShape(batch.dimension);
  kept ??= new Arena(KEPT_BYTES_MAX);
  const searched = {
    shape,
    codes: new CodeTable(batch.codes.table, lentIn(lent, batch.codes), shape),
    table: new RowTable(batch.rows.table, shape),
    arenas: lentIn(lent, batch.rows),
    keptIn: kept,
  };
  return Array.from(unpackCodesSearches(batch.searches), (search) => ({ hits: atOnce(searchCodes(searched, search)) }));
}

export const packCodesSearches = (searches: readonly CodesSearch[]): Int32Array =>
  packQueries(searches.map(({ wanted, ...search }) => ({ ...search, most: wanted })));

function* unpackCodesSearches(words: Int32Array): Generator<CodesSearch> {
  for (const { most, rotated, ...search } of unpackQueries(words)) yield { ...search, rotated: rotated!, wanted: most };
}
