/** An HNSW index beside the vectors of a collection, like in a generation. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FrozenRows, freeze } from '../../../shard/index/builds/frozenRows.js';
import { hnswBuilder } from '../../../shard/index/hnsw/builder.js';
import { hnsw } from '../../../shard/index/hnsw/hnsw.js';
import type { BuildBase, Index } from '../../../shard/index/kind.js';
import { BuildProgress } from '../../../shard/index/progress.js';
import { NO_SLOT, Rows } from '../../../shard/index/rows.js';
import { SlotSet } from '../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { IndexParameters } from '../../../shared/model/indexSpec.js';
import { nextTurn } from '../../../shared/scheduling/slice.js';
import { type SeededRandom, seededRandom, testSeed } from '../model/random.js';

export const DIMENSION = 12;
export const ONE = 65_536;
export const K = 10;

/** Vectors of a collection, and what a generation keeps beside its index. */
export class Collection {
  readonly vectors: VectorBlocks;
  /** Size of the largest graph that a build makes; see `BuildOrder`. */
  graphBytesMax: number | undefined;
  #nextId = 1;

  constructor(
    private readonly folder: string,
    readonly dimension = DIMENSION,
    memory = new VectorMemory(),
  ) {
    this.vectors = new VectorBlocks(memory, dimension);
  }

  insert(components: Int32Array): number {
    const slot = this.vectors.acquire();
    this.vectors.write(slot, this.#nextId++, new Uint8Array(components.buffer));
    this.vectors.publish(slot);
    return slot;
  }

  frozen(base?: Rows): FrozenRows {
    const { vectors } = this;
    const saved = base && { recordIds: Float64Array.from(base.recordIds), leftOut: new Set<number>() };
    return new FrozenRows(freeze(vectors), vectors.shape, saved);
  }

  async build(name: string, parameters: IndexParameters = {}, from?: { path: string; rows: Rows }) {
    const path = join(this.folder, name);
    const rows = this.frozen(from?.rows);
    const base: BuildBase | undefined = from && { path: from.path, count: from.rows.count };
    const progress = new BuildProgress();
    const { leftOut } = await hnswBuilder.build({
      rows,
      parameters,
      path,
      base,
      progress,
      graphBytesMax: this.graphBytesMax,
    });
    expect(leftOut).to.deep.equal([]);
    expect(progress.done).to.equal(progress.total);
    return { path, recordIds: rows.recordIds };
  }

  /** Opens the index like a generation, with the live rows. */
  async open(path: string, recordIds: Iterable<number>, parameters: IndexParameters = {}, pause = nextTurn) {
    const rows = new Rows(new SlotSet(this.vectors.shape));
    const live = this.#liveSlots();
    for (const id of recordIds) rows.add(id, live.get(id) ?? NO_SLOT);
    return new Opened(this, rows, await hnsw.open({ path, vectors: this.vectors, rows, parameters, pause }));
  }

  async indexed(name = 'payload', parameters: IndexParameters = {}): Promise<Opened> {
    const { path, recordIds } = await this.build(name, parameters);
    return this.open(path, recordIds, parameters);
  }

  #liveSlots(): Map<number, number> {
    const slots = new Map<number, number>();
    for (const { live, firstSlot, ids } of this.vectors.blocks)
      for (const row of live) slots.set(ids[row]!, firstSlot + row);
    return slots;
  }
}

class Opened {
  constructor(
    private readonly collection: Collection,
    readonly rows: Rows,
    readonly index: Index,
  ) {}

  absorb(slot: number): boolean {
    const found = this.index.absorb(this.rows.count, slot);
    this.rows.add(this.collection.vectors.idOf(slot), found ? slot : NO_SLOT);
    return found;
  }

  remove(slot: number): void {
    const ordinal = this.rows.remove(slot);
    if (ordinal !== undefined) this.index.remove(ordinal, slot);
    this.collection.vectors.release(slot);
  }

  async search(query: Int32Array, k = K, eligible?: SlotSet) {
    const slots = await this.index.candidates(query, k, eligible);
    return this.collection.vectors.rank(query, k, { slots, eligible }, nextTurn);
  }

  /** Share of the exact nearest rows that were found. */
  async recall(queries: readonly Int32Array[], k = K, eligible?: SlotSet): Promise<number> {
    let found = 0;
    let there = 0;
    for (const query of queries) {
      const exact = await this.collection.vectors.search(query, k, nextTurn, { eligible });
      const ids = new Set((await this.search(query, k, eligible)).ids);
      there += exact.ids.length;
      found += exact.ids.filter((id) => ids.has(id)).length;
    }
    return found / there;
  }
}

/** Vectors around a few dozen centres. */
function clustered(random: SeededRandom, dimension = DIMENSION): () => Int32Array {
  const centres = Array.from({ length: 40 }, () => Array.from({ length: dimension }, () => random.next() * 4 - 2));
  return () => {
    const centre = random.pick(centres);
    return Int32Array.from(centre, (value) => Math.round((value + random.next() - 0.5) * ONE));
  };
}

export const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
export const flat = (value: number): Int32Array => new Int32Array(DIMENSION).fill(value * ONE);

/** A folder per test of a suite, vectors of this dimension for all, and indexes that are freed after each test. */
export interface HnswRig {
  readonly folder: string;
  readonly random: SeededRandom;
  readonly vector: () => Int32Array;
  readonly kept: <T extends Opened>(one: T) => T;
}

/** Call it in a suite; its fields are set when the tests run. */
export function hnswRig(dimension = DIMENSION): HnswRig {
  const opened: Index[] = [];
  const kept = <T extends Opened>(one: T): T => {
    opened.push(one.index);
    return one;
  };
  const rig = { kept } as { -readonly [Field in keyof HnswRig]: HnswRig[Field] };
  before(() => {
    rig.random = seededRandom(testSeed());
    rig.vector = clustered(rig.random, dimension);
  });
  beforeEach(async () => {
    rig.folder = await mkdtemp(join(tmpdir(), 'vouch-test-hnsw-'));
  });
  afterEach(async () => {
    for (const index of opened.splice(0)) await index.free();
    await rm(rig.folder, { recursive: true });
  });
  return rig;
}
