/** A collection of vectors with metadata and short texts, written over many hours of a simulated clock. */
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import { type Clock, systemClock } from '../shared/clock.js';
import { type Engine, envelope } from './inProcess.js';
import { fixedBytes, generator, type VectorSet } from './vectors.js';

const BATCH = 1_000;
/** Time between two batches, by the records' ages. */
const BATCH_EVERY_MS = 600_000;

const WORDS = 5_000;
const WORDS_A_TEXT = 8;
const WORDS_A_QUERY = 3;
const GROUPS = 10;
const PRICES = 1_000;

/** A clock that is behind until everything is written, so that records have ages without a wait. */
export class PastClock implements Clock {
  #behindMs: number;

  constructor({ count }: VectorSet) {
    this.#behindMs = Math.ceil(count / BATCH) * BATCH_EVERY_MS;
  }

  nowMs(): number {
    return systemClock.nowMs() - this.#behindMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  nextBatch(): void {
    this.#behindMs -= BATCH_EVERY_MS;
  }
}

/** A text of random words: the first words of the vocabulary are in many texts, most words in few. */
const textOf = (random: () => number, words: number): string =>
  Array.from({ length: words }, () => `w${Math.floor(WORDS * random() ** 3)}`).join(' ');

/** Random metadata: each group has a tenth of the records, and a tenth have a price below `PRICES` / 10. */
const metadataOf = (random: () => number, row: number): Uint8Array => {
  const group = Math.floor(GROUPS * random());
  const price = Math.floor(PRICES * random());
  return Buffer.from(JSON.stringify({ group, price, name: `record ${row}`, tags: ['a', `t${row % 7}`] }));
};

export async function ingestRecords(
  { backend }: Engine,
  collection: Collection,
  { base, dimension, count }: VectorSet,
  clock: PastClock,
): Promise<void> {
  const random = generator(count);
  for (let from = 0; from < count; from += BATCH) {
    const to = Math.min(from + BATCH, count);
    const rows = Array.from({ length: to - from }, (_, i) => from + i);
    const vectors = fixedBytes(base, dimension, from, to);
    const metadata = rows.map((row) => metadataOf(random, row));
    const texts = rows.map(() => Buffer.from(textOf(random, WORDS_A_TEXT)));
    const records = { count: rows.length, vectors, metadata, texts, requestIds: null };
    await backend.call(collection, { op: 'insertBatch', ...records }, envelope());
    clock.nextBatch();
  }
}

export const textQueries = (count: number): string[] => {
  const random = generator(WORDS);
  return Array.from({ length: count }, () => textOf(random, WORDS_A_QUERY));
};

export const CHEAPEST_TENTH = PRICES / 10;
