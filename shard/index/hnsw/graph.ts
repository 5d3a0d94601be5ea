import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import hnswlib from 'hnswlib-node';
import { createFile, deleteTree } from '../../../shared/files/durable.js';
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { constructionWidth, neighbours, SEED } from './parameters.js';
import { elementBytes, emptyPayload, type GraphShape, readRowCount } from './payload.js';

const ONE = 65_536;

/** hnswlib measures this many components at a time in wide registers, and the rest one by one: zeros fill them up. */
const LANES = 16;

/** hnswlib's locks, one per label modulo 65,536, which an empty graph has too. */
const LOCKS_BYTES = 65_536 * 40;
/** Memory for a node that is reserved from the start: lock, level, pointer to its upper lists, visited mark. */
const SPARE_NODE_BYTES = 54;
/** Memory for a node that is used: its entry in the map of labels, and its share of the lists of higher levels. */
const NODE_BYTES = 48;

/**
 * A graph of hnswlib: nodes under labels of 32 bits, for squared distance. Nodes are neither removed nor marked as
 * deleted: where a new node's search visits marked nodes only, hnswlib reads before the start of an empty list, and the
 * process crashes.
 */
export class HnswGraph {
  /** A buffer: hnswlib takes plain arrays only, and copies them. */
  readonly #point: number[];
  /** A counter is cheaper than a call of the library. */
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

  static create(dimension: number, capacity: number, parameters: IndexParameters): HnswGraph {
    const shape = shapeOf(dimension, parameters);
    const native = new hnswlib.HierarchicalNSW('l2', shape.dimension);
    native.initIndex(capacity, neighbours(parameters), constructionWidth(parameters), SEED);
    return new HnswGraph(native, shape);
  }

  /** Reads in another thread. Throws an Error of one line where the payload is inconsistent or has more than `rowsMax`. */
  static async load(path: string, dimension: number, parameters: IndexParameters, rowsMax: number): Promise<HnswGraph> {
    const shape = shapeOf(dimension, parameters);
    const count = await readRowCount(path, shape);
    if (count > rowsMax) throw new Error(`an HNSW payload of ${count} rows for ${rowsMax}`);
    const native = new hnswlib.HierarchicalNSW('l2', shape.dimension);
    await native.readIndex(path);
    return new HnswGraph(native, shape);
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

  /** Returns the labels in any order; 5 ms for 100,000. */
  labels(): readonly number[] {
    return this.native.getIdsList();
  }

  /** Grows to `capacity` nodes, where it is smaller: copies the whole graph. */
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

  /** Returns the labels of the nearest `k` nodes that a search of width `ef` visits, nearest first. */
  nearest(components: Int32Array, k: number, ef: number): readonly number[] {
    if (ef !== this.#ef) this.native.setEf(ef);
    this.#ef = ef;
    return this.native.searchKnn(this.#pointOf(components), Math.min(k, this.count)).neighbors;
  }

  /** Writes in another thread; no node may be added meanwhile. */
  async write(path: string): Promise<void> {
    await this.native.writeIndex(path);
    // hnswlib does not notice a full disk.
    const count = await readRowCount(path, this.shape);
    if (count !== this.count) throw new Error(`wrote ${count} of ${this.count} rows to ${path}`);
  }

  /** Frees the memory. Takes about 8 ms for 100,000 nodes. */
  freeNow(): void {
    this.native.initIndex(1, 2);
  }

  /**
   * Frees the memory in another thread: the thread that reads another graph in its place frees it. The garbage collector
   * does not know the size of the graph and comes late.
   */
  async free(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'vouch-hnsw-')).catch(() => undefined);
    if (folder === undefined) return this.freeNow();
    const path = join(folder, 'empty');
    try {
      // Only a complete file may be read: where reading fails, hnswlib keeps a pointer to freed memory.
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
