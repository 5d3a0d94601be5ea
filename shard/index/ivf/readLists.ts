/** A search of inverted lists that any thread can make: it reads lists, then measures the rows that codes leave exactly. */
import { ascending } from '../../kernel/ascending.js';
import { paddedCodeBytes } from '../../kernel/planeMemory.js';
import type { RowTable } from '../../kernel/rowTable.js';
import type { Hits } from '../../kernel/scanScratch.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import type { ChunkMemory } from './chunkMemory.js';
import { ListQuery, type QueriedRows, type Slots } from './listQuery.js';

/** Work between two pauses, in bytes of codes that are compared in that time: 0.5 to 1 ms. */
export const SLICE_BYTES = 6 << 20;
/** Cost of a call of the kernel, in that unit. */
const CALL_COST_BYTES = 4 << 10;

/** The order for a search of lists. */
export interface ListsSearch {
  /** Components of the query. */
  readonly query: Int32Array;
  /** The query, rotated for sign codes; undefined to compare without them. */
  readonly rotated: Float32Array | undefined;
  readonly k: number;
  /** Number of lists to read. */
  readonly probes: number;
}

/** The lists of an index. */
export interface Lists {
  /** Number of lists. */
  readonly count: number;
  /** Returns the numbers of the `most` nearest lists, nearest first. */
  nearest(query: Int32Array, most: number): Uint32Array;
  /** Returns the parts of a list. A pause may add some. */
  chunks(list: number): Iterable<ChunkMemory>;
}

/** The rows of a collection, in the memory of a thread. */
export interface MeasuredRows {
  readonly table: RowTable;
  /** Arenas of the rows, by their numbers in the table. */
  readonly arenas: readonly ScratchArena[];
}

/** Reads lists, and measures the rows found. Throws `unavailable` and `capacity_exceeded` if memory is short. */
export function* searchLists(
  lists: Lists,
  search: ListsSearch,
  rows: QueriedRows & MeasuredRows,
  eligible: Slots | undefined,
): Generator<undefined, Hits> {
  const slots = yield* readLists(lists, search, rows, eligible);
  return yield* rows.table.nearest(rows.arenas, search.query, search.k, ascending(slots));
}

/**
 * Reads lists in steps of about 1 ms. Returns the nearest `k` rows of the lists read, and a few others that codes do not
 * distinguish from them. Sign codes exclude rows that seem too far by some multiple of their usual error, and so may
 * exclude a near row.
 */
export function* readLists(
  lists: Lists,
  { query, rotated, k, probes }: ListsSearch,
  rows: QueriedRows,
  eligible: Slots | undefined,
): Generator<undefined, Uint32Array> {
  const scan = new ListQuery(query, k, rows, rotated);
  const reading = { lists, scan, eligible, codeBytes: paddedCodeBytes(rows.shape.dimension) };
  try {
    yield* readAll(reading, lists.nearest(query, probes));
    if (!scan.isFull && probes < lists.count)
      yield* readAll(reading, lists.nearest(query, lists.count).subarray(probes), true);
    return scan.slots();
  } finally {
    scan.free();
  }
}

interface Reading {
  readonly lists: Lists;
  readonly scan: ListQuery;
  readonly eligible: Slots | undefined;
  /** Bytes of the code of a row. */
  readonly codeBytes: number;
}

/** Reads lists in steps: all of them, or with `untilFull` only until the query has seen k rows. */
function* readAll(
  { lists, scan, eligible, codeBytes }: Reading,
  numbers: Uint32Array,
  untilFull = false,
): Generator<undefined, void> {
  let spentBytes = 0;
  for (const list of numbers) {
    if (untilFull && scan.isFull) return;
    // During a pause, a list may grow by rows of the tail, which the search has measured before.
    for (const chunk of lists.chunks(list)) {
      const { end } = chunk;
      for (let position = 0; position < end; ) {
        const next = scan.scan(chunk, position, eligible);
        spentBytes += CALL_COST_BYTES + (next - position) * codeBytes;
        position = next;
        if (spentBytes < SLICE_BYTES) continue;
        yield;
        spentBytes = 0;
      }
    }
  }
}
