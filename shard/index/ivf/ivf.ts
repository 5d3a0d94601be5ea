/**
 * An open inverted file (see `builder.ts`). A list has a sign code and a byte code for each row. A search reads the n_probe
 * lists with the nearest centroids. It excludes rows by sign codes, then by byte codes; the rest is measured exactly.
 */
import { VouchError } from '../../../shared/errors/errors.js';
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { inTurns } from '../../../shared/scheduling/slice.js';
import { paddedCodeBytes } from '../../kernel/planeMemory.js';
import type { Hits } from '../../kernel/scanScratch.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import { bitmapOf } from '../batchForm.js';
import type { Index, IndexOpener, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { costBytesOf } from '../searchQueue.js';
import { Centroids } from './centroids.js';
import { ChunkShape } from './chunkMemory.js';
import { InvertedList } from './invertedList.js';
import type { ListsShape } from './listChunk.js';
import { ListSigns } from './listSigns.js';
import { OpenLists } from './openLists.js';
import { type IvfPayload, NO_LIST, readIvfPayload, writeIvfPayload } from './payload.js';
import { type ListsSearch, readLists, SLICE_BYTES } from './readLists.js';
import { rowsByList } from './rowsByList.js';
import { StagedVector } from './stagedVector.js';
import { ThreadedLists } from './threadedLists.js';

/** Cost of a row that is added to a list, and of one that is checked, in the unit of `SLICE_BYTES`. */
const ADDED_COST_BYTES = 12 << 10;
const CHECKED_COST_BYTES = 256;
/** Bytes of vectors, and number of rows, to which a chunk is fitted at once: well below a millisecond. */
const FILLED_BYTES = 2 << 20;
const FILLED_ROWS_MAX = 4096;

/** Cost of a search without rows, with 100 dimensions. The unit of costs is a row that an exact scan measures. */
const COST_ROWS = 1000;
const COST_PER_CENTROID = 2;
const COST_PER_PROBE = 60;
/** Costs of a row that is measured exactly in the end, and of one in a list that is read. */
const COST_BY_CODES = { candidate: 2, row: 1 };
/** Costs with sign codes. The rows that these cannot exclude are also compared by byte codes. */
const COST_BY_SIGNS = { candidate: 12, row: 0.35 };

class IvfIndex implements Index {
  readonly capacityLeft = Number.POSITIVE_INFINITY;
  readonly absorbs = true;
  /** Facts that all lists have in common. */
  readonly #common: ListsShape;
  readonly #usualShift: number;
  readonly #centroids: Centroids;
  readonly #lists: readonly InvertedList[];
  readonly #open: OpenLists;
  readonly #threaded: ThreadedLists | undefined;
  /** List of each ordinal, or NO_LIST. It may be longer than the number of ordinals. */
  #assigned: Uint32Array;
  /** Number of ordinals. */
  #ordinals: number;
  /** Number of rows in lists. */
  #count = 0;
  /** Sum of the squares of the lists' lengths. */
  #squares = 0;

  /** Makes an index without rows. Throws `capacity_exceeded`. */
  constructor(
    private readonly order: OpenOrder,
    { dimension, lists, usualShift, centroids, assigned }: IvfPayload,
  ) {
    const { memory, narrowReach, shape } = order.vectors;
    this.#usualShift = usualShift;
    this.#centroids = new Centroids(memory, dimension, lists, centroids);
    this.#assigned = assigned;
    this.#ordinals = assigned.length;
    const signs = ListSigns.around(centroids, dimension);
    this.#common = {
      memory,
      chunks: new ChunkShape(paddedCodeBytes(dimension), signs === undefined ? 0 : dimension),
      strideBytes: shape.strideBytes,
      narrowReach,
      signs,
    };
    this.#lists = Array.from(
      { length: lists },
      (_, list) => new InvertedList(this.#common, () => this.#centroids.components(list)),
    );
    this.#open = new OpenLists(this.#centroids, this.#lists, this.#common.chunks);
    const { threads } = memory;
    this.#threaded = threads && new ThreadedLists(threads, order, this.#open);
  }

  get bytes(): number {
    const lists = this.#lists.reduce((sum, { bytes }) => sum + bytes, 0);
    return lists + this.#centroids.bytes + this.#assigned.byteLength;
  }

  cost(k: number): number {
    const lists = this.#lists.length;
    // Queries are distributed like rows. So a list that is read is as long, on average, as the list of a random row.
    const length = this.#count === 0 ? 0 : this.#squares / this.#count;
    const probes = probesFor(lists, this.order.parameters);
    const read = Math.min(this.#count, length * probes);
    const fixed = COST_ROWS + COST_PER_CENTROID * lists + COST_PER_PROBE * probes;
    const { candidate, row } = this.#signsFor(probes) === undefined ? COST_BY_CODES : COST_BY_SIGNS;
    return (fixed + candidate * k + row * read) / this.order.vectors.shape.scannedRowCost;
  }

  /** Adds the rows of the payload to the lists. Throws `capacity_exceeded`, and an Error if a live row has no list. */
  async fill(): Promise<void> {
    const { rows, vectors, pause } = this.order;
    await this.#checkRows();
    const byList = rowsByList(this.#assigned, this.#lists.length);
    const staged = new StagedVector(vectors);
    const atOnce = Math.ceil(SLICE_BYTES / (vectors.shape.strideBytes + ADDED_COST_BYTES));
    const atMost = Math.max(1, Math.min(FILLED_ROWS_MAX, Math.floor(FILLED_BYTES / vectors.shape.strideBytes)));
    let added = 0;
    try {
      for (const [list, to] of this.#lists.entries()) {
        for (const ordinals of portions(byList(list), atMost)) {
          const slots = Array.from(ordinals, (ordinal) => rows.slotOf(ordinal));
          for (const _ of to.fill(slots, staged)) if (++added % atOnce === 0) await pause();
        }
        this.#count += to.count;
        this.#squares += to.count ** 2;
      }
    } finally {
      staged.free();
    }
  }

  absorb(ordinal: number, slot: number): boolean {
    const { vectors } = this.order;
    const [list] = this.#centroids.nearest(vectors.vectorBytes(slot), 1);
    if (list === undefined) return this.#assign(ordinal, NO_LIST);
    try {
      this.#add(list, slot);
    } catch (error) {
      if (error instanceof VouchError && error.code === 'capacity_exceeded') return this.#assign(ordinal, NO_LIST);
      throw error;
    }
    return this.#assign(ordinal, list);
  }

  remove(ordinal: number, slot: number): void {
    const list = this.#assigned[ordinal]!;
    if (list === NO_LIST) return;
    const from = this.#lists[list]!;
    from.remove(slot);
    this.#assigned[ordinal] = NO_LIST;
    this.#count--;
    this.#squares -= 2 * from.count + 1;
    if (from.count === 0 && this.order.vectors.memory.mustErase) {
      from.erase();
      this.#centroids.erase(list);
    }
  }

  search(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Hits> | undefined {
    if (!this.#threaded?.queue.isOpen || this.#count === 0 || eligible?.count === 0) return undefined;
    const { vectors } = this.order;
    const search = { ...this.#searchFor(query, k), eligible: bitmapOf(eligible, vectors.slots) };
    return this.#threaded.queue.add(search, costBytesOf(vectors.shape, this.cost(k), search.eligible));
  }

  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    if (this.#count === 0) return new Uint32Array(0);
    const { vectors, pause } = this.order;
    return inTurns(readLists(this.#open, this.#searchFor(query, k), vectors, eligible), pause);
  }

  async persist(path: string): Promise<void> {
    const { dimension } = this.order.vectors;
    const header = { dimension, lists: this.#lists.length, count: this.#ordinals, usualShift: this.#usualShift };
    await writeIvfPayload({ path }, header, (list) => this.#centroids.components(list), this.#assigned);
  }

  async free(): Promise<void> {
    for (const list of this.#lists) list.free();
    this.#centroids.free();
  }

  /** Returns the sign codes to use. Undefined if a search reads all lists: it then finds what an exact search finds. */
  #signsFor(probes: number): ListSigns | undefined {
    return probes < this.#lists.length ? this.#common.signs : undefined;
  }

  #searchFor(query: Int32Array, k: number): ListsSearch {
    const probes = probesFor(this.#lists.length, this.order.parameters);
    return { query, rotated: this.#signsFor(probes)?.rotated(query), k: Math.min(k, this.#count), probes };
  }

  #add(list: number, slot: number): void {
    const { vectors } = this.order;
    const to = this.#lists[list]!;
    const staged = new StagedVector(vectors);
    try {
      to.add(slot, staged);
    } finally {
      staged.free();
    }
    this.#count++;
    this.#squares += 2 * to.count - 1;
  }

  /** Gives ordinals without a live row no list, in slices. Throws an Error if a live row has none. */
  async #checkRows(): Promise<void> {
    const { rows, pause } = this.order;
    const atOnce = SLICE_BYTES / CHECKED_COST_BYTES;
    for (let ordinal = 0; ordinal < this.#ordinals; ordinal++) {
      if (rows.slotOf(ordinal) === NO_SLOT) this.#assigned[ordinal] = NO_LIST;
      else if (this.#assigned[ordinal] === NO_LIST) throw new Error(`an IVF payload with row ${ordinal} in no list`);
      if ((ordinal + 1) % atOnce === 0) await pause();
    }
  }

  /** Notes the list of the next ordinal. Returns false if it has none. */
  #assign(ordinal: number, list: number): boolean {
    if (ordinal >= this.#assigned.length) {
      const assigned = this.#assigned;
      this.#assigned = new Uint32Array(Math.max(2 * assigned.length, ordinal + 1)).fill(NO_LIST);
      this.#assigned.set(assigned);
    }
    this.#assigned[ordinal] = list;
    this.#ordinals = ordinal + 1;
    return list !== NO_LIST;
  }
}

/** Returns the number of lists that a search reads: as requested, by default the square root of the lists. */
function probesFor(lists: number, { nProbe }: IndexParameters): number {
  return Math.min(lists, nProbe ?? Math.max(1, Math.round(Math.sqrt(lists))));
}

function* portions(ordinals: Uint32Array, most: number): Generator<Uint32Array> {
  for (let first = 0; first < ordinals.length; first += most) yield ordinals.subarray(first, first + most);
}

export const ivf: IndexOpener = {
  async open(order) {
    const { vectors, rows } = order;
    const payload = await readIvfPayload(order, vectors.dimension);
    if (payload.count !== rows.count) throw new Error(`an IVF payload of ${payload.count} rows, not ${rows.count}`);
    const index = new IvfIndex(order, payload);
    try {
      await index.fill();
      return index;
    } catch (error) {
      await index.free();
      throw error;
    }
  },
  sameBuild: (one, other) => one.nList === other.nList,
};
