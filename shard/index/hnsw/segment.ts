/**
 * A segment of an open HNSW index (Malkov and Yashunin, arXiv 1603.09320); most indexes have one. It is the graph of
 * `graphMemory.ts`, which the kernel searches and extends. Rows with equal stored vectors share a node. A search costs about as
 * much as measuring 1,800 + 58 ef_search rows (`cost.ts`). Ordinals count from the first row of the segment.
 */
import { inTurns } from '../../../shared/scheduling/slice.js';
import { Column } from '../../kernel/column.js';
import type { Hits } from '../../kernel/scanScratch.js';
import type { SlotSet } from '../../kernel/slotSet.js';
import { allocateScratch, freeScratch, type Region } from '../../kernel/vectorMemory.js';
import { bitmapOf } from '../batchForm.js';
import type { Index, OpenOrder } from '../kind.js';
import { NO_SLOT } from '../rows.js';
import { costBytesOf } from '../searchQueue.js';
import { type PayloadFile, writePayload } from '../store/payloadFile.js';
import { arrange } from './arrange.js';
import { searchCost } from './cost.js';
import { EqualRows, NONE } from './equalRows.js';
import { GraphMemory, graphBytes, linkBytes, NO_NODE } from './graphMemory.js';
import { type GraphSearch, walk } from './graphSearch.js';
import { GraphSearches } from './graphSearches.js';
import { constructionWidth, searchWidth } from './parameters.js';
import { type SavedGraph, writeGraph } from './payload.js';
import { Proposals } from './proposals.js';
import type { GraphRows } from './segmentRows.js';
import { doubtfulUpTo, encoded } from './vectorForm.js';
import { WalkScratch, walkLayout } from './walkScratch.js';

/** Nodes beyond k that a search looks for, since codes order rows at almost equal distances by chance. */
const SPARE = 8;
/** Largest number of nodes that a search keeps. */
const WIDTH_MAX = 4096;
/** Largest number of rows with the query's own vector for a search on threads. */
const EQUAL_SLOTS_MAX = 64;
/** Bytes that are read in about 5 ms, the most for one absorbed row. */
const LINK_BYTES_MAX = 24 << 20;
/** Rows arranged, and nodes checked, between two pauses: about 0.5 ms. */
const ARRANGED_AT_ONCE = 512;
const CHECKED_AT_ONCE = 4096;

const NO_SLOTS = new Uint32Array(0);

export interface SegmentOrder extends Omit<OpenOrder, 'rows'> {
  readonly rows: GraphRows;
}

type Reach = Pick<GraphSearch, 'width' | 'most' | 'takesAll'>;

export class Segment implements Index {
  readonly segments = 1;
  /** Ordinal of each node. */
  readonly #ordinals = new Column(0);
  /** Node of each ordinal, its own or the one that it shares. */
  readonly #nodes = new Column(NO_NODE);
  /** Number of live rows of each node that represents several. */
  readonly #sharing = new Map<number, number>();
  readonly #equal: EqualRows;
  readonly #graph: GraphMemory;
  readonly #searches: GraphSearches;

  private constructor(
    private readonly order: SegmentOrder,
    private readonly region: Region,
    graph: GraphMemory,
  ) {
    this.#graph = graph;
    this.#equal = new EqualRows((ordinal) => {
      const node = this.#nodes.get(ordinal);
      if (node !== NO_NODE) return graph.vectorOf(node);
      const slot = order.rows.slotOf(ordinal);
      return slot === NO_SLOT ? undefined : encoded(graph.shape.form, componentsAt(order, slot));
    });
    const { threads } = order.vectors.memory;
    const slotsOf = (nodes: Uint32Array, search: GraphSearch): Uint32Array => this.#slotsOf(nodes, search);
    this.#searches = new GraphSearches(threads, order, { region, shape: graph.shape, slotsOf });
  }

  /** Opens a saved graph, with its rows. Throws `capacity_exceeded`, and an Error if the payload is inconsistent. */
  static async open(order: SegmentOrder, saved: SavedGraph): Promise<Segment> {
    const { memory } = order.vectors;
    const region = memory.allocateBlock(graphBytes(saved.shape));
    try {
      const graph = new GraphMemory(region.arena.buffer, region.address, saved.shape);
      const ordinals = await saved.restore(graph, order.pause);
      await checkLinks(region, graph, order.pause);
      const segment = new Segment(order, region, graph);
      await segment.#fill(ordinals);
      return segment;
    } catch (error) {
      memory.freeBlock(region);
      throw error;
    }
  }

  get bytes(): number {
    return this.region.sizeBytes + this.#equal.bytes + 4 * (this.#ordinals.length + this.#nodes.length);
  }

  get capacityLeft(): number {
    return this.#graph.shape.capacity - this.#graph.count;
  }

  get absorbs(): boolean {
    return linkBytes(this.#graph.shape) <= LINK_BYTES_MAX;
  }

  cost(k: number): number {
    const { parameters, vectors } = this.order;
    return searchCost(vectors.shape, parameters, Math.min(searchWidth(parameters, k), this.#graph.count));
  }

  /** Takes over the ordinals of the nodes, and lets each other row share the node of an equal one. */
  async #fill(ordinals: Uint32Array): Promise<void> {
    const { rows, pause } = this.order;
    for (const [node, ordinal] of ordinals.entries()) {
      this.#ordinals.set(node, ordinal);
      this.#nodes.set(ordinal, node);
      this.#graph.setSlot(node, rows.slotOf(ordinal));
      if ((node + 1) % CHECKED_AT_ONCE === 0) await pause();
    }
    let arranged = 0;
    const stepped = (): Promise<void> | undefined => (++arranged % ARRANGED_AT_ONCE === 0 ? pause() : undefined);
    const leaveOut = (ordinal: number): void => {
      if (rows.slotOf(ordinal) !== NO_SLOT) rows.remove(rows.slotOf(ordinal));
    };
    const nodes = {
      leaveOut,
      has: (ordinal: number) => this.#nodes.get(ordinal) !== NO_NODE,
      add: (ordinal: number, vector: Int32Array) => {
        if (!this.#graph.hasRoom) return false;
        this.#add(ordinal, vector, rows.slotOf(ordinal));
        return true;
      },
      share: (first: number, ordinal: number) => {
        if (!this.#share(first, ordinal, rows.slotOf(ordinal) !== NO_SLOT)) leaveOut(ordinal);
      },
    };
    await arrange(nodes, this.#equal, { count: rows.count, known: rows.count }, stepped);
    if (this.order.vectors.memory.mustErase) await this.#eraseDead();
  }

  absorb(ordinal: number, slot: number): boolean {
    const { form } = this.#graph.shape;
    const components = componentsAt(this.order, slot);
    const vector = this.#graph.hasRoom ? encoded(form, components) : undefined;
    if (vector === undefined) return false;
    // Take the scratch first: without memory to link a node, nothing changes.
    return this.#withLinkScratch(({ address }, { kernel }) => {
      const first = this.#equal.add(ordinal, vector);
      if (first !== NONE) return this.#share(first, ordinal, true);
      this.#addNode(ordinal, vector, slot);
      kernel.linkNodes(this.#graph.address, address, 1);
      return true;
    });
  }

  /** Clears the slot of the row's node. The node stays, since other nodes are reached through it. */
  remove(ordinal: number): void {
    const node = this.#nodes.get(ordinal);
    if (node === NO_NODE) return;
    this.#graph.clearSlot(node);
    const shared = this.#sharing.get(node);
    if (shared !== undefined) this.#sharing.set(node, shared - 1);
    if (!this.order.vectors.memory.mustErase) return;
    if (this.#ordinals.get(node) !== ordinal) this.#equal.erase(ordinal);
    if (this.#liveOf(node) === 0) this.#erase(node);
  }

  search(query: Int32Array, k: number, eligible: SlotSet | undefined): Hits | Promise<Hits> | undefined {
    const planned = this.plan(query, k, eligible);
    return planned && this.run(planned, eligible);
  }

  /** Plans a search for `run`. Returns undefined if only `candidates` can make it. */
  plan(query: Int32Array, k: number, eligible: SlotSet | undefined): GraphSearch | undefined {
    const vector = this.#vectorFor(query, eligible);
    if (vector === undefined) return undefined;
    const equalSlots = this.#equalSlots(vector, eligible);
    if (equalSlots.length > EQUAL_SLOTS_MAX) return undefined;
    const { width, most, takesAll } = this.#reach(k, eligible);
    return {
      query,
      vector,
      k,
      width,
      most,
      takesAll,
      equalSlots,
      eligible: bitmapOf(eligible, this.order.vectors.slots),
    };
  }

  /** Makes a planned search, on threads if there are some. */
  run(search: GraphSearch, eligible: SlotSet | undefined): Hits | Promise<Hits> {
    return this.#searches.run(search, () => {
      const { vectors, parameters } = this.order;
      const cost = searchCost(vectors.shape, parameters, this.#visited(search.width, search.most, eligible));
      return costBytesOf(vectors.shape, cost, search.eligible);
    });
  }

  /** Proposes rows near the query. The walk also follows the links of nodes that are gone or not eligible. */
  async candidates(query: Int32Array, k: number, eligible: SlotSet | undefined): Promise<Uint32Array> {
    const vector = this.#vectorFor(query, eligible);
    // Without candidates, the search is exact.
    if (vector === undefined) return new Uint32Array(0);
    const proposals = new Proposals(this.order.rows, eligible && ((slot) => eligible.has(slot)));
    for (const ordinal of this.#equal.find(vector)) this.#equal.ring(ordinal, proposals.propose);
    const bitmap = bitmapOf(eligible, this.order.vectors.slots);
    const search = { query, vector, k, ...this.#reach(k, eligible), equalSlots: NO_SLOTS, eligible: bitmap };
    const { arena, address } = this.region;
    const nodes = await inTurns(walk({ arena, address, shape: this.#graph.shape }, search), this.order.pause);
    this.#propose(nodes, k, proposals);
    return proposals.all;
  }

  async persist(path: string): Promise<void> {
    await writePayload({ path }, (file) => this.write(file, 0, undefined));
  }

  /** Writes the graph to a payload, at `offset`. Returns the offset behind it. `rows`: see `GraphToWrite`. */
  async write(file: PayloadFile, offset: number, rows: number | undefined): Promise<number> {
    const ordinals = new Uint32Array(this.#graph.count);
    for (let node = 0; node < ordinals.length; node++) {
      ordinals[node] = this.#ordinals.get(node);
      if ((node + 1) % CHECKED_AT_ONCE === 0) await this.order.pause();
    }
    return writeGraph(file, offset, { graph: this.#graph, ordinals, rows });
  }

  async free(): Promise<void> {
    this.order.vectors.memory.freeBlock(this.region);
  }

  /**
   * Returns the words of a query. Undefined if no row counts, and for a query outside the range of the codes: they do not show which
   * rows are near it.
   */
  #vectorFor(query: Int32Array, eligible: SlotSet | undefined): Int32Array | undefined {
    const isEmpty = this.order.rows.covered.count === 0 || eligible?.count === 0;
    return isEmpty ? undefined : encoded(this.#graph.shape.form, query);
  }

  /** Returns the slots of the live rows whose stored vector is `vector`. */
  #equalSlots(vector: Int32Array, eligible: SlotSet | undefined): Uint32Array {
    const found = this.#equal.find(vector);
    if (found.length === 0) return NO_SLOTS;
    const proposals = new Proposals(this.order.rows, eligible && ((slot) => eligible.has(slot)));
    for (const ordinal of found) this.#equal.ring(ordinal, proposals.propose);
    return Uint32Array.from(proposals.slots);
  }

  /** Returns how far a search for `k` rows reaches; see `GraphSearch`. */
  #reach(k: number, eligible: SlotSet | undefined): Reach {
    const { rows, parameters } = this.order;
    const { count } = this.#graph;
    const width = Math.min(searchWidth(parameters, k + SPARE), WIDTH_MAX, count);
    const takesAll = eligible === undefined && rows.garbage === 0;
    return { width, most: takesAll ? width : Math.min(WIDTH_MAX, count), takesAll };
  }

  /** Estimates how many nodes a search keeps until `width` of them are eligible. */
  #visited(width: number, most: number, eligible: SlotSet | undefined): number {
    return eligible === undefined ? width : Math.min(most, (width * this.order.vectors.liveCount) / eligible.count);
  }

  /** Returns the slots of the rows that nodes represent; see `walk` for the nodes. */
  #slotsOf(nodes: Uint32Array, { k, equalSlots, eligible }: GraphSearch): Uint32Array {
    const isEligible = (slot: number): boolean => ((eligible[slot >>> 5]! >>> (slot & 31)) & 1) === 1;
    const proposals = new Proposals(this.order.rows, eligible.length === 0 ? undefined : isEligible, equalSlots);
    this.#propose(nodes, k, proposals);
    return proposals.all;
  }

  /** Proposes the rows of the nearest nodes found: k rows, and those that may be nearer than their codes show. */
  #propose(found: Uint32Array, k: number, { slots, propose }: Proposals): void {
    let limit = Number.POSITIVE_INFINITY;
    for (let at = 0; at < found.length && found[at + 1]! <= limit; at += 2) {
      this.#equal.ring(this.#ordinals.get(found[at]!), propose);
      if (slots.size >= k && limit === Number.POSITIVE_INFINITY)
        limit = doubtfulUpTo(this.#graph.shape.form, found[at + 1]!);
    }
  }

  /** Lets a row share the node of another one. Returns false if that has none. */
  #share(first: number, ordinal: number, isLive: boolean): boolean {
    const node = this.#nodes.get(first);
    if (node === NO_NODE) return false;
    this.#sharing.set(node, this.#liveOf(node) + Number(isLive));
    this.#nodes.set(ordinal, node);
    this.#graph.share(node);
    return true;
  }

  /** Number of live rows that a node represents. */
  #liveOf(node: number): number {
    const isLive = this.order.rows.slotOf(this.#ordinals.get(node)) !== NO_SLOT;
    return this.#sharing.get(node) ?? Number(isLive);
  }

  /** Overwrites the vector of a node without a live row. Walks still pass through the node. */
  #erase(node: number): void {
    this.#graph.eraseVector(node);
    this.#equal.erase(this.#ordinals.get(node));
  }

  async #eraseDead(): Promise<void> {
    for (let node = 0; node < this.#graph.count; node++) {
      if (this.#liveOf(node) === 0) this.#erase(node);
      if ((node + 1) % CHECKED_AT_ONCE === 0) await this.order.pause();
    }
  }

  #add(ordinal: number, vector: Int32Array, slot: number): void {
    this.#withLinkScratch(({ address }, { kernel }) => {
      this.#addNode(ordinal, vector, slot);
      kernel.linkNodes(this.#graph.address, address, 1);
    });
  }

  #addNode(ordinal: number, vector: Int32Array, slot: number): void {
    const node = this.#graph.add(vector);
    this.#graph.setSlot(node, slot);
    this.#ordinals.set(node, ordinal);
    this.#nodes.set(ordinal, node);
  }

  /** Calls `use` with scratch to link a node. Throws `unavailable` and `capacity_exceeded`, and has then not called it. */
  #withLinkScratch<T>(use: (scratch: WalkScratch, arena: Region['arena']) => T): T {
    const { arena } = this.region;
    const layout = walkLayout(this.#graph.shape, { most: constructionWidth(this.order.parameters), slots: 0 });
    const region = allocateScratch(arena, layout.sizeBytes);
    try {
      return use(new WalkScratch(arena.words, region.address, layout), arena);
    } finally {
      freeScratch(region);
    }
  }
}

/** Returns the components of a row. Its bytes are little-endian, like every machine that runs the kernel. */
function componentsAt({ vectors }: SegmentOrder, slot: number): Int32Array {
  const { buffer, byteOffset } = vectors.vectorBytes(slot);
  return new Int32Array(buffer, byteOffset, vectors.dimension);
}

/** Throws an Error if a link leads to no node: the kernel would read outside of the graph. */
async function checkLinks({ arena }: Region, graph: GraphMemory, pause: () => Promise<void>): Promise<void> {
  for (let first = 0; first < graph.count; first += CHECKED_AT_ONCE) {
    const bad = arena.kernel.findBadNode(graph.address, graph.upperWords, first, CHECKED_AT_ONCE) >>> 0;
    if (bad !== NO_NODE) throw new Error(`an HNSW payload whose node ${bad} has a link to no node`);
    await pause();
  }
}
