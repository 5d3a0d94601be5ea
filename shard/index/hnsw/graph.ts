import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import hnswlib from 'hnswlib-node';
import { createFile, deleteTree } from '../../../shared/durable.js';
import type { IndexParameters } from '../../../shared/indexSpec.js';
import { constructionWidth, neighbours, SEED } from './parameters.js';
import { elementBytes, emptyPayload, type GraphShape, type PayloadFacts, readPayloadFacts } from './payload.js';

const ONE = 65_536;

/** hnswlib measures so many components at a time in wide registers, and what is left over one by one: zeros fill it up. */
const LANES = 16;

/** hnswlib's locks, one per label modulo 65,536; of an empty graph too. */
const LOCKS_BYTES = 65_536 * 40;
/** A node's lock, level, pointer to its upper lists and mark of being visited: there from the start. */
const SPARE_NODE_BYTES = 54;
/** A node's entry in the map of labels, and its share of the lists of higher levels. */
const NODE_BYTES = 48;

/**
 * A graph of hnswlib: nodes under labels of 32 bits, for squared distance. Nodes are neither taken out nor marked as
 * deleted: where all that a new node's search comes by is marked, hnswlib reads before the start of an empty list, and
 * the process ends.
 */
export class Graph {
  /** hnswlib takes plain arrays only, and copies them: one for all. */
  readonly #point: number[];
  /** Asking the library costs more than keeping count. */
  #count: number;
  #capacity: number;
  #ef = 0;

  private constructor(
    private readonly native: hnswlib.HierarchicalNSW,
    private readonly shape: GraphShape,
  ) {
    this.#point = new Array<number>(shape.dimension).fill(0);
    this.#count = native.getCurrentCount();
    this.#capacity = native.getMaxElements();
  }

  static create(dimension: number, capacity: number, parameters: IndexParameters): Graph {
    const shape = shapeOf(dimension, parameters);
    const native = new hnswlib.HierarchicalNSW('l2', shape.dimension);
    native.initIndex(capacity, neighbours(parameters), constructionWidth(parameters), SEED);
    return new Graph(native, shape);
  }

  /** Reads in another thread. Throws an Error of one line where the payload does not hold together. */
  static async load(
    path: string,
    dimension: number,
    parameters: IndexParameters,
    check: (facts: PayloadFacts) => void,
  ): Promise<Graph> {
    const shape = shapeOf(dimension, parameters);
    check(await readPayloadFacts(path, shape));
    const native = new hnswlib.HierarchicalNSW('l2', shape.dimension);
    await native.readIndex(path);
    return new Graph(native, shape);
  }

  get count(): number {
    return this.#count;
  }

  get capacity(): number {
    return this.#capacity;
  }

  get bytes(): number {
    const perNode = elementBytes(this.shape) + NODE_BYTES;
    return LOCKS_BYTES + this.capacity * SPARE_NODE_BYTES + this.count * perNode;
  }

  /** In any order; 5 ms for 100,000. */
  labels(): readonly number[] {
    return this.native.getIdsList();
  }

  /** Moves the whole graph. */
  grow(capacity: number): void {
    if (capacity <= this.#capacity) return;
    this.native.resizeIndex(capacity);
    this.#capacity = capacity;
  }

  /** `components`: Q16.16. */
  add(components: Int32Array, label: number): void {
    this.native.addPoint(this.#pointOf(components), label);
    this.#count++;
  }

  /** Labels of the `k` nearest nodes that a search of width `ef` comes by, nearest first; fewer where there are fewer. */
  nearest(components: Int32Array, k: number, ef: number): readonly number[] {
    if (ef !== this.#ef) this.native.setEf(ef);
    this.#ef = ef;
    return this.native.searchKnn(this.#pointOf(components), Math.min(k, this.count)).neighbors;
  }

  /** Writes in another thread; nothing may be added meanwhile. */
  async write(path: string): Promise<void> {
    await this.native.writeIndex(path);
    // hnswlib does not notice a full disk.
    const { count } = await readPayloadFacts(path, this.shape);
    if (count !== this.count) throw new Error(`wrote ${count} of ${this.count} rows to ${path}`);
  }

  /** Gives the memory back. Takes some 8 ms for 100,000 nodes. */
  freeNow(): void {
    this.native.initIndex(1, 2);
  }

  /**
   * As `freeNow`, in another thread. The garbage collector does not know how large the graph is and comes late; reading
   * another graph in its place frees it in the thread that reads.
   */
  async free(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-hnsw-')).catch(() => undefined);
    if (folder === undefined) {
      this.freeNow();
      return;
    }
    const path = join(folder, 'empty');
    try {
      // Only a file that is whole may be read: where reading fails, hnswlib keeps a pointer to what it has freed.
      if (await createFile(path, emptyPayload(this.shape)).catch(() => false)) await this.native.readIndex(path);
      else this.freeNow();
    } finally {
      await deleteTree(folder);
    }
  }

  #pointOf(components: Int32Array): number[] {
    const point = this.#point;
    for (let i = 0; i < components.length; i++) point[i] = components[i]! / ONE;
    return point;
  }
}

const shapeOf = (dimension: number, parameters: IndexParameters): GraphShape => ({
  dimension: Math.ceil(dimension / LANES) * LANES,
  neighbours: neighbours(parameters),
});
