/** The lists of an open index, and where they are for any thread. */
import type { Arena } from '../../kernel/arena.js';
import type { ScratchArena } from '../../kernel/vectorMemory.js';
import type { Centroids } from './centroids.js';
import { ChunkMemory, type ChunkShape } from './chunkMemory.js';
import type { InvertedList } from './invertedList.js';
import type { Lists } from './readLists.js';

/** Words of a chunk: arena and address. */
const CHUNK_WORDS = 2;

/** A table of chunks: for each list the number of its first chunk, then the end of all, then the chunks. */
export interface ListsPlace {
  readonly table: SharedArrayBuffer;
  /** Arenas of the chunks, by their numbers in the table. */
  readonly arenas: readonly Arena[];
  /** Number of chunks. */
  readonly chunks: number;
}

export class OpenLists implements Lists {
  #place: ListsPlace | undefined;

  constructor(
    readonly centroids: Centroids,
    private readonly lists: readonly InvertedList[],
    private readonly shape: ChunkShape,
  ) {}

  /** Whether rows have sign codes. */
  get hasSigns(): boolean {
    return this.shape.signDimension > 0;
  }

  get count(): number {
    return this.lists.length;
  }

  nearest(query: Int32Array, most: number): Uint32Array {
    return this.centroids.nearest(query, most);
  }

  *chunks(list: number): Generator<ChunkMemory> {
    for (const { memory } of this.lists[list]!.chunks) yield memory;
  }

  /** Where the chunks are. A chunk has its other facts in its memory, so this changes only when a chunk is added. */
  get place(): ListsPlace {
    const chunks = this.lists.reduce((sum, list) => sum + list.chunks.length, 0);
    if (this.#place?.chunks !== chunks) this.#place = this.#tableOf(chunks);
    return this.#place;
  }

  #tableOf(chunks: number): ListsPlace {
    const words = new Uint32Array(
      new SharedArrayBuffer(Uint32Array.BYTES_PER_ELEMENT * (this.count + 1 + CHUNK_WORDS * chunks)),
    );
    const arenas: Arena[] = [];
    let chunk = 0;
    for (const [number, list] of this.lists.entries()) {
      words[number] = chunk;
      for (const { region } of list.chunks) {
        if (!arenas.includes(region.arena)) arenas.push(region.arena);
        words.set([arenas.indexOf(region.arena), region.address], this.count + 1 + CHUNK_WORDS * chunk++);
      }
    }
    words[this.count] = chunk;
    return { table: words.buffer as SharedArrayBuffer, arenas, chunks };
  }
}

/** The chunks of lists, in the memory of a thread. */
export class ListTable {
  readonly #words: Uint32Array;

  /** `arenas`: the arenas of the chunks, in the order of their numbers. */
  constructor(
    buffer: SharedArrayBuffer,
    readonly count: number,
    private readonly arenas: readonly ScratchArena[],
    private readonly shape: ChunkShape,
  ) {
    this.#words = new Uint32Array(buffer);
  }

  *chunks(list: number): Generator<ChunkMemory> {
    for (let chunk = this.#words[list]!; chunk < this.#words[list + 1]!; chunk++) {
      const at = this.count + 1 + CHUNK_WORDS * chunk;
      yield new ChunkMemory(this.arenas[this.#words[at]!]!, this.#words[at + 1]!, this.shape);
    }
  }
}
