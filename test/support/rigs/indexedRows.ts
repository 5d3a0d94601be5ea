/** One kind of index over rows, without a collection: built, opened and searched like in a generation. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { FrozenRows, freeze } from '../../../shard/index/builds/frozenRows.js';
import type { Index } from '../../../shard/index/kind.js';
import { BUILDERS, OPENERS } from '../../../shard/index/kinds.js';
import { BuildProgress } from '../../../shard/index/progress.js';
import { NO_SLOT, Rows } from '../../../shard/index/rows.js';
import { SlotSet } from '../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../shard/kernel/vectorMemory.js';
import type { IndexKind, IndexParameters } from '../../../shared/model/indexSpec.js';
import { bytesOf, mean, type Near, nearest, recallOf, scoreOf, type Vector } from '../model/indexVectors.js';

export interface Payload {
  readonly path: string;
  /** Record ids by ordinal. */
  readonly recordIds: Float64Array;
  readonly leftOut: ReadonlySet<number>;
}

export interface Asked {
  readonly kind: IndexKind;
  readonly parameters: IndexParameters;
  readonly dimension: number;
}

export class IndexedRows {
  readonly vectors: VectorBlocks;
  /** Live rows by record id. */
  readonly records = new Map<number, Vector>();
  /** Called where a search yields to the event loop. */
  onPause: () => void = () => {};
  readonly #folder = mkdtempSync(join(tmpdir(), 'vouch-index-'));
  readonly #slots = new Map<number, number>();
  #rows: Rows;
  #index: Index | undefined;
  #nextId = 1;
  #files = 0;

  constructor(
    readonly asked: Asked,
    readonly memory = new VectorMemory(),
  ) {
    this.vectors = new VectorBlocks(this.memory, asked.dimension);
    this.#rows = new Rows(new SlotSet(this.vectors.shape));
  }

  get index(): Index {
    return this.#index!;
  }

  get rows(): Rows {
    return this.#rows;
  }

  newPath(): string {
    return join(this.#folder, `payload${this.#files++}`);
  }

  /** Inserts rows that no index has yet. Returns their ids. */
  insert(vectors: readonly Vector[]): number[] {
    return vectors.map((vector) => {
      const id = this.#nextId++;
      const slot = this.vectors.acquire();
      this.vectors.write(slot, id, bytesOf(vector));
      this.vectors.publish(slot);
      this.records.set(id, vector);
      this.#slots.set(id, slot);
      return id;
    });
  }

  /** Absorbs live uncovered rows into the index. Returns the ids of those that it would not find. */
  absorb(): number[] {
    const left: number[] = [];
    for (const [id, slot] of this.#slots) {
      if (this.#rows.ordinalOf(slot) !== undefined) continue;
      const ordinal = this.#rows.count;
      const found = this.index.absorb(ordinal, slot);
      this.#rows.add(id, found ? slot : NO_SLOT);
      if (!found) left.push(id);
    }
    return left;
  }

  /** A hard delete: the slot is reused as soon as nothing reads it. */
  delete(id: number): void {
    const slot = this.#slots.get(id)!;
    const ordinal = this.#rows.remove(slot);
    if (ordinal !== undefined) this.#index?.remove(ordinal, slot);
    this.vectors.release(slot);
    this.#slots.delete(id);
    this.records.delete(id);
  }

  async build(base?: Payload, progress = new BuildProgress()): Promise<Payload> {
    const { kind, parameters } = this.asked;
    const scan = this.vectors.beginScan();
    try {
      const rows = new FrozenRows(freeze(this.vectors), this.vectors.shape, base);
      const path = this.newPath();
      const from = base === undefined ? undefined : { path: base.path, count: base.recordIds.length };
      const { leftOut } = await BUILDERS[kind].build({ rows, parameters, path, base: from, progress });
      return { path, recordIds: rows.recordIds, leftOut: new Set([...rows.dead(), ...leftOut]) };
    } finally {
      this.vectors.endScan(scan);
    }
  }

  /** Replaces the open index. */
  async open(payload: Payload): Promise<void> {
    const { kind, parameters } = this.asked;
    await this.close();
    this.#rows = new Rows(new SlotSet(this.vectors.shape));
    payload.recordIds.forEach((id, ordinal) => {
      this.#rows.add(id, payload.leftOut.has(ordinal) ? NO_SLOT : (this.#slots.get(id) ?? NO_SLOT));
    });
    const pause = async (): Promise<void> => this.onPause();
    this.#index = await OPENERS[kind].open({
      path: payload.path,
      vectors: this.vectors,
      rows: this.#rows,
      parameters,
      pause,
    });
  }

  async buildAndOpen(base?: Payload): Promise<Payload> {
    const payload = await this.build(base);
    await this.open(payload);
    return payload;
  }

  /** Payload of the open index if it were written now. */
  async persist(): Promise<Payload> {
    const path = this.newPath();
    await this.index.persist(path);
    const recordIds = Float64Array.from(this.#rows.recordIds);
    const leftOut = [...recordIds.keys()].filter((ordinal) => this.#rows.slotOf(ordinal) === NO_SLOT);
    return { path, recordIds, leftOut: new Set(leftOut) };
  }

  /** Live rows that the index proposes. Fails if any proposed row is wrong. */
  async search(query: Vector, k: number, eligible?: SlotSet): Promise<Near[]> {
    const coveredBefore = new Set([...this.#slots.values()].filter((slot) => this.#rows.covered.has(slot)));
    const scan = this.vectors.beginScan();
    try {
      const slots = await this.index.candidates(query, k, eligible);
      expect(new Set(slots).size, 'each slot once').to.equal(slots.length);
      for (const slot of slots) {
        if (!coveredBefore.has(slot)) expect.fail(`slot ${slot} is not covered`);
        if (eligible?.has(slot) === false) expect.fail(`slot ${slot} is not eligible`);
      }
      const ids = [...slots].filter((slot) => this.vectors.isLive(slot)).map((slot) => this.vectors.idOf(slot));
      const hits = ids.map((id): Near => ({ id, score: scoreOf(this.records.get(id)!, query) }));
      return hits.sort((a, b) => a.score - b.score || a.id - b.id).slice(0, k);
    } finally {
      this.vectors.endScan(scan);
    }
  }

  /** Mean recall@k of the queries, over all live records or, if given, over those with these ids. */
  async recall(queries: readonly Vector[], k: number, eligibleIds?: ReadonlySet<number>): Promise<number> {
    const eligible = eligibleIds === undefined ? undefined : this.slotsOf(eligibleIds);
    const among = [...this.records].filter(([id]) => eligibleIds?.has(id) ?? true);
    const each: number[] = [];
    for (const query of queries) each.push(recallOf(await this.search(query, k, eligible), nearest(among, query, k)));
    return mean(each);
  }

  slotsOf(ids: ReadonlySet<number>): SlotSet {
    const set = new SlotSet(this.vectors.shape);
    for (const id of ids) set.add(this.#slots.get(id)!);
    return set;
  }

  /** Bytes of vector memory in use: blocks of collections and of indexes, and scratch of scans. */
  get usedBytes(): number {
    const arenas = new Set(this.vectors.blocks.map(({ region }) => region.arena));
    return [...arenas].reduce((sum, { usedBytes }) => sum + usedBytes, 0);
  }

  /** Frees the open index. */
  async close(): Promise<void> {
    await this.#index?.free();
    this.#index = undefined;
  }

  async dispose(): Promise<void> {
    await this.close();
    this.vectors.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
