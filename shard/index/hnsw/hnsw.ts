import type { SlotSet } from '../../kernel/slotSet.js';
import type { Index, KindOfIndex, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { arrange } from './arrange.js';
import { searchCost } from './cost.js';
import { EqualRows } from './equalRows.js';
import { HnswGraph } from './graph.js';
import { sameBuild, searchWidth } from './parameters.js';

/** Proposed beyond k: the graph measures in floats, and orders rows at almost equal distances by chance. */
const SPARE = 2;
/** A wider search holds the thread for more than 5 ms. */
const WIDTH_MAX = 4096;
const WIDENING = 4;
/** The most rows proposed: of more rows that are equal to one another, chance decides which are found. */
const PROPOSED_MAX = 16_384;
/** Rows arranged between two pauses: about 0.5 ms. */
const ARRANGED_AT_ONCE = 512;

class HnswIndex implements Index {
  constructor(
    private readonly order: OpenOrder,
    private readonly graph: HnswGraph,
    private readonly equal: EqualRows,
  ) {}

  get bytes(): number {
    return this.graph.bytes + this.equal.bytes;
  }

  get capacityLeft(): number {
    return this.graph.capacity - this.graph.count;
  }

  cost(k: number): number {
    const { parameters, vectors } = this.order;
    return searchCost(vectors.shape, parameters, Math.min(searchWidth(parameters, k), this.graph.count));
  }

  absorb(ordinal: number, slot: number): boolean {
    if (this.capacityLeft === 0) return false;
    const components = componentsAt(this.order, slot);
    if (!this.equal.add(ordinal, components)) this.graph.add(components, ordinal);
    return true;
  }

  /** Nothing to do: the node stays, since it leads to others, and `rows` knows that it has no slot. */
  remove(): void {}

  /** A search visits rows that are gone or not eligible too, so it is wider by their share. */
  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const { rows, parameters, pause } = this.order;
    const available = eligible === undefined ? rows.covered.count : Math.min(eligible.count, rows.covered.count);
    if (available === 0) return new Uint32Array(0);
    const perRow = rows.count / available;
    let wanted = Math.ceil((k + SPARE) * perRow);
    let width = Math.ceil(searchWidth(parameters, k) * perRow);
    for (;;) {
      wanted = Math.min(wanted, WIDTH_MAX, this.graph.count);
      width = Math.min(Math.max(width, wanted), WIDTH_MAX);
      const slots = this.#propose(query, wanted, width, eligible);
      if (slots.size >= Math.min(k, available) || wanted === WIDTH_MAX || wanted === this.graph.count)
        return Uint32Array.from(slots);
      await pause();
      wanted = width = width * WIDENING;
    }
  }

  persist(path: string): Promise<void> {
    return this.graph.write(path);
  }

  free(): Promise<void> {
    return this.graph.free();
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

/** Reads a row; its bytes are little-endian, as every machine that runs the kernel. */
function componentsAt({ vectors }: OpenOrder, slot: number): Int32Array {
  const { buffer, byteOffset } = vectors.vectorBytes(slot);
  return new Int32Array(buffer, byteOffset, vectors.dimension);
}

export const hnsw: KindOfIndex = {
  async open(order) {
    const { path, vectors, rows, parameters, pause } = order;
    const graph = await HnswGraph.load(path, vectors.dimension, parameters, rows.count);
    const equal = new EqualRows((ordinal) => {
      const slot = rows.slotOf(ordinal);
      return slot === NO_SLOT ? undefined : componentsAt(order, slot);
    });
    let arranged = 0;
    const stepped = (): Promise<void> | undefined => (++arranged % ARRANGED_AT_ONCE === 0 ? pause() : undefined);
    await arrange(graph, equal, rows.count, rows.count, stepped);
    return new HnswIndex(order, graph, equal);
  },
  sameBuild,
};
