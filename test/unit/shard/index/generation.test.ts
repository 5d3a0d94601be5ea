// Covers: shard/index/generation.ts, shard/index/rows.ts
/** Searches of an index by threads: the rows that they show, and when the index changes meanwhile. */
import { expect } from 'chai';
import { Generation } from '../../../../shard/index/generation.js';
import type { Index } from '../../../../shard/index/kind.js';
import { Rows } from '../../../../shard/index/rows.js';
import type { Hits } from '../../../../shard/kernel/scanScratch.js';
import { SlotSet } from '../../../../shard/kernel/slotSet.js';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import { systemClock } from '../../../../shared/clock.js';
import { nextTurn, Slice } from '../../../../shared/scheduling/slice.js';

const DIMENSION = 2;
const QUERY = Int32Array.of(0, 0);
const K = 3;

/** An index that notes its changes. The test ends its searches by threads. */
class NotingIndex implements Index {
  readonly bytes = 0;
  readonly capacityLeft = 1_000;
  readonly absorbs = true;
  readonly notes: string[] = [];
  readonly #ends: (() => void)[] = [];

  constructor(private readonly nearest: (k: number) => Promise<Hits>) {}

  cost = (): number => 0;
  absorb = (_: number, slot: number): boolean => this.notes.push(`absorbs ${slot}`) > 0;
  remove = (_: number, slot: number): void => void this.notes.push(`removes ${slot}`);
  candidates = async (): Promise<Uint32Array> => {
    this.notes.push('searches here');
    return new Uint32Array(0);
  };
  persist = async (): Promise<void> => undefined;
  free = async (): Promise<void> => undefined;

  search(_: Int32Array, k: number): Promise<Hits> {
    this.notes.push('searches');
    const hits = this.nearest(k);
    return new Promise((resolve) => this.#ends.push(() => resolve(hits)));
  }

  async endSearch(): Promise<void> {
    this.#ends.shift()!();
    await nextTurn();
  }
}

describe('a generation that is searched by threads', () => {
  let vectors: VectorBlocks;
  let rows: Rows;
  let index: NotingIndex;
  let generation: Generation;

  const insert = (distance: number): number => {
    const slot = vectors.acquire();
    vectors.write(slot, slot + 1, new Uint8Array(Int32Array.of(distance * 65_536, 0).buffer));
    vectors.publish(slot);
    return slot;
  };
  const remove = (slot: number): void => {
    generation.remove(slot);
    vectors.release(slot);
  };
  const idsOf = async (search: Hits | Promise<Hits>): Promise<number[]> => [...(await search).ids];
  const search = async (): Promise<Hits> => generation.search(QUERY, K, undefined);

  beforeEach(() => {
    vectors = new VectorBlocks(new VectorMemory(), DIMENSION);
    rows = new Rows(new SlotSet(vectors.shape));
    for (const distance of [1, 2, 3, 4]) {
      const slot = insert(distance);
      rows.add(slot + 1, slot);
    }
    index = new NotingIndex((k) => vectors.search(QUERY, k, nextTurn, { eligible: rows.covered }));
    generation = new Generation({
      ...{ number: 1, kind: 'hnsw', parameters: {}, vectors, rows, index },
      ...{ trainedRows: 4, savedRows: 4, refused: new SlotSet(vectors.shape) },
    });
  });

  it('answers with the records of the time of the call, whatever is written until its end', async () => {
    insert(1.5);
    const found = search();
    remove(0);
    insert(0.5);
    generation.absorb(new Slice(systemClock));
    await index.endSearch();
    expect(await idsOf(found)).to.deep.equal([1, 5, 2]);
  });

  it('removes and absorbs rows only when the last search has ended', async () => {
    const found = [search(), search()];
    insert(5);
    remove(1);
    expect(generation.absorb(new Slice(systemClock)), 'is to be called again').to.equal(true);
    await index.endSearch();
    expect(index.notes).to.deep.equal(['searches', 'searches']);
    await index.endSearch();
    expect(index.notes.slice(2)).to.deep.equal(['removes 1', 'absorbs 4']);
    await Promise.all(found);
  });

  it('makes new searches in the event loop while a change waits for searches by threads', async () => {
    const found = search();
    remove(1);
    expect(await idsOf(search())).to.deep.equal([1, 3, 4]);
    expect(index.notes).to.deep.equal(['searches', 'searches here']);
    await index.endSearch();
    expect(await idsOf(found)).to.deep.equal([1, 2, 3]);
    const after = search();
    await index.endSearch();
    expect(await idsOf(after)).to.deep.equal([1, 3, 4]);
  });

  it('keeps the slot of a removed row until the last search that may show it', async () => {
    const found = search();
    remove(1);
    expect(insert(9)).to.equal(4);
    await index.endSearch();
    await found;
    expect(insert(9)).to.equal(1);
  });

  it('asks the index if many rows are eligible, and scans a few exactly', async () => {
    for (let distance = 5; distance <= 1_000; distance++) {
      const slot = insert(distance);
      rows.add(slot + 1, slot);
    }
    index.cost = () => 100;
    const notesOf = async (count: number): Promise<string[]> => {
      const eligible = new SlotSet(vectors.shape);
      for (let slot = 0; slot < count; slot++) eligible.add(slot);
      const found = idsOf(generation.search(QUERY, K, eligible));
      const notes = index.notes.splice(0);
      if (notes.length > 0) await index.endSearch();
      expect(await found).to.deep.equal([1, 2, 3]);
      return notes;
    };
    expect(await notesOf(50)).to.deep.equal([]);
    expect(await notesOf(200)).to.deep.equal(['searches']);
  });
});
