/** The reference for the kernel: the same searches in BigInt, over a plain model of the collection. */
import { expect } from 'chai';
import type { Hits } from '../../../../shard/kernel/scanScratch.js';
import { VectorBlocks } from '../../../../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../../../../shard/kernel/vectorMemory.js';
import type { SeededRandom } from '../../../support/model/random.js';

export interface Row {
  readonly id: number;
  readonly vector: Int32Array;
  live: boolean;
}

export type Rows = ReadonlyMap<number, Row>;

export interface Expected {
  readonly ids: number[];
  readonly slots: number[];
  readonly scores: number[];
}

export const MIN = -(2 ** 31);
export const MAX = 2 ** 31 - 1;

/** A whole number in [-bound, bound). */
export const component = (random: SeededRandom, bound: number): number => Math.floor((random.next() * 2 - 1) * bound);

export function randomVector(random: SeededRandom, dimension: number, bound: number): Int32Array {
  const vector = new Int32Array(dimension);
  for (let i = 0; i < dimension; i++) vector[i] = component(random, bound);
  return vector;
}

export const bytesOf = (vector: Int32Array): Uint8Array =>
  new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);

/** Returns the squared distance. A sum of numbers that stays below 2^53 is exact; a larger one is added up in BigInt. */
function total(a: Int32Array, b: Int32Array): number | bigint {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i]! - b[i]!) * (a[i]! - b[i]!);
  return sum < 2 ** 53 ? sum : largeTotal(a, b);
}

function largeTotal(a: Int32Array, b: Int32Array): bigint {
  let sum = 0n;
  let part = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = a[i]! - b[i]!;
    const square = difference * difference;
    if (square < 2 ** 52 && part < 2 ** 52) {
      part += square;
      continue;
    }
    sum += BigInt(part) + BigInt(difference) ** 2n;
    part = 0;
  }
  return sum + BigInt(part);
}

/** The nearest `k` live rows, by exact distance and then by id. */
export function nearest(rows: Rows, query: Int32Array, k: number, eligible?: ReadonlySet<number>): Expected {
  const all: { readonly slot: number; readonly id: number; readonly total: number | bigint }[] = [];
  for (const [slot, { id, vector, live }] of rows)
    if (live && (eligible?.has(slot) ?? true)) all.push({ slot, id, total: total(vector, query) });
  // Numbers and BigInts are compared by their exact values.
  all.sort((a, b) => (a.total < b.total ? -1 : a.total > b.total ? 1 : a.id - b.id)).splice(k);
  return {
    ids: all.map(({ id }) => id),
    slots: all.map(({ slot }) => slot),
    // BigInt to Number rounds correctly, and a division by a power of two is exact.
    scores: all.map(({ total }) => Number(total) / 2 ** 32),
  };
}

export const listed = (hits: Hits): Expected => ({
  ids: [...hits.ids],
  slots: [...hits.slots],
  scores: [...hits.scores],
});

export const noPause = (): Promise<void> => Promise.resolve();

/** A collection and its model, changed together. */
export class Modelled {
  readonly vectors: VectorBlocks;
  readonly rows = new Map<number, Row>();
  #nextId = 1;

  constructor(
    readonly dimension: number,
    readonly memory = new VectorMemory(),
  ) {
    this.vectors = new VectorBlocks(memory, dimension);
  }

  /** Inserts a row. With an `id` other than the next, the order of slots differs from that of ids. */
  insert(vector: Int32Array, id = this.#nextId): number {
    this.#nextId = Math.max(this.#nextId, id) + 1;
    const slot = this.vectors.acquire();
    expect(this.rows.has(slot), `slot ${slot} is in use`).to.equal(false);
    this.vectors.write(slot, id, bytesOf(vector));
    this.vectors.publish(slot);
    this.rows.set(slot, { id, vector, live: true });
    return slot;
  }

  retire(slot: number): void {
    this.vectors.retire(slot);
    this.rows.get(slot)!.live = false;
  }

  release(slot: number): void {
    this.vectors.release(slot);
    this.rows.delete(slot);
  }

  /** Returns a copy of the current rows. */
  frozen(): Rows {
    return new Map([...this.rows].map(([slot, row]) => [slot, { ...row }]));
  }

  async check(query: Int32Array, k: number): Promise<void> {
    const hits = await this.vectors.search(query, k, noPause);
    expect(listed(hits)).to.deep.equal(nearest(this.rows, query, k));
  }
}
