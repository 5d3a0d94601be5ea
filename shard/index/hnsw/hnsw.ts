import type { IndexParameters } from '../../../shared/indexSpec.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import type { VectorBlocks } from '../../kernel/vectorBlocks.js';
import type { Index, KindOfIndex, OpenOrder } from '../kind.js';
import { NO_SLOT, type Rows } from '../rows.js';
import { arrange } from './arrange.js';
import { EqualRows } from './equalRows.js';
import { Graph } from './graph.js';
import { neighbours, sameBuild, searchWidth } from './parameters.js';

/** Proposed beyond k: the graph measures in floats, and orders rows that are almost equally far by chance. */
const SPARE = 2;
/** A wider search holds the thread for more than 5 ms. */
const WIDTH_MAX = 4096;
const WIDENING = 4;
/** Rows that are equal to one another and proposed: beyond these, which of them are found is left to chance. */
const PROPOSED_MAX = 16_384;
/** Rows that are arranged between two looks at whether others wait: some 0.5 ms. */
const ARRANGED_AT_ONCE = 512;

/**
 * A search of width `ef` takes as long as an exact scan of some 1,800 + 58 ef rows, measured with 100,000 rows of real
 * data, 100 dimensions, m 16. More neighbours are more distances per step, though many to nodes seen before; with more
 * dimensions the share of what is not distances falls: 60 rows per width were measured with 4, 17 with 384, 10 with 768.
 */
const COST_ROWS = 1800;
const COST_ROWS_PER_WIDTH = 58;
const COST_NEIGHBOURS = 16;
const COST_DIMENSION = 100;
const COST_EVEN_DIMENSION = 60;

class HnswIndex implements Index {
  constructor(
    private readonly order: OpenOrder,
    private readonly graph: Graph,
    private readonly equal: EqualRows,
  ) {}

  get bytes(): number {
    return this.graph.bytes + this.equal.bytes;
  }

  get room(): number {
    return this.graph.capacity - this.graph.count;
  }

  cost(k: number): number {
    const { parameters, vectors } = this.order;
    const byNeighbours = Math.cbrt(neighbours(parameters) / COST_NEIGHBOURS);
    const beyond = Math.max(vectors.dimension, COST_DIMENSION) + COST_EVEN_DIMENSION;
    const byDimension = (COST_DIMENSION + COST_EVEN_DIMENSION) / beyond;
    const width = Math.min(searchWidth(parameters, k), this.graph.count);
    return byDimension * (COST_ROWS + COST_ROWS_PER_WIDTH * byNeighbours * width);
  }

  absorb(ordinal: number, slot: number): boolean {
    if (this.room === 0) return false;
    const components = componentsAt(this.order.vectors, slot);
    if (!this.equal.add(ordinal, components)) this.graph.add(components, ordinal);
    return true;
  }

  /** The node stays, and leads to others. `rows` knows that there is nothing to propose in it. */
  remove(): void {}

  /** Rows that are gone or not eligible are come by like others, so the search is wider by their share. */
  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const { rows, parameters, pause } = this.order;
    const there = eligible === undefined ? rows.covered.count : Math.min(eligible.count, rows.covered.count);
    if (there === 0) return new Uint32Array(0);
    const perRow = rows.count / there;
    let wanted = Math.ceil((k + SPARE) * perRow);
    let width = Math.ceil(searchWidth(parameters, k) * perRow);
    for (;;) {
      wanted = Math.min(wanted, WIDTH_MAX, this.graph.count);
      width = Math.min(Math.max(width, wanted), WIDTH_MAX);
      const slots = this.#propose(query, wanted, width, eligible);
      if (slots.size >= Math.min(k, there) || wanted === WIDTH_MAX || wanted === this.graph.count)
        return Uint32Array.from(slots);
      await pause();
      wanted = width = width * WIDENING;
    }
  }

  async persist(path: string): Promise<void> {
    await this.graph.write(path);
  }

  async free(): Promise<void> {
    await this.graph.free();
  }

  #propose(query: Int32Array, wanted: number, width: number, eligible: SlotSet | undefined): Set<number> {
    const { rows } = this.order;
    const slots = new Set<number>();
    const propose = (ordinal: number): boolean => {
      const slot = rows.slotOf(ordinal);
      if (slot !== NO_SLOT && (eligible?.has(slot) ?? true)) slots.add(slot);
      return slots.size < PROPOSED_MAX;
    };
    this.equal.find(query, (ordinal) => this.equal.ring(ordinal, propose));
    for (const label of this.graph.nearest(query, wanted, width)) this.equal.ring(label, propose);
    return slots;
  }
}

/** Little-endian, as all machines that WebAssembly's SIMD runs on. */
function componentsAt(vectors: VectorBlocks, slot: number): Int32Array {
  const { buffer, byteOffset } = vectors.vectorBytes(slot);
  return new Int32Array(buffer, byteOffset, vectors.dimension);
}

function componentsOf(vectors: VectorBlocks, rows: Rows): (ordinal: number) => Int32Array | undefined {
  return (ordinal) => {
    const slot = rows.slotOf(ordinal);
    return slot === NO_SLOT ? undefined : componentsAt(vectors, slot);
  };
}

/** Every so many calls, a pause. */
function resting(pause: () => Promise<void>): () => Promise<void> | undefined {
  let calls = 0;
  return () => (++calls % ARRANGED_AT_ONCE === 0 ? pause() : undefined);
}

export const hnsw: KindOfIndex = {
  async open(order) {
    const { path, vectors, rows, parameters, pause } = order;
    const graph = await Graph.load(path, vectors.dimension, parameters, ({ count }) => {
      if (count > rows.count) throw new Error(`an HNSW payload of ${count} rows for ${rows.count}`);
    });
    const components = componentsOf(vectors, rows);
    const equal = new EqualRows(components);
    await arrange({ graph, equal }, { count: rows.count, components }, rows.count, resting(pause));
    return new HnswIndex(order, graph, equal);
  },
  sameBuild: (one: IndexParameters, other: IndexParameters) => sameBuild(one, other),
};
