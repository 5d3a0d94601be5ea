/** Chapter of the demo: two collections are made and filled with digits. */
import { quantise } from '../../../shared/fixedPoint.js';
import { counted } from '../../terminal/line.js';
import { type Progress, withProgress } from '../../terminal/progress.js';
import { DIMENSION, type Digit } from '../digits.js';
import type { Stored } from '../nearest.js';
import { expect, fact, gap, tell } from '../story.js';
import { COLLECTIONS, type Loaded, type Tour } from '../tour.js';

const BATCH = 250;

export async function load(tour: Tour): Promise<Loaded> {
  const { cluster, vouch, options, deal } = tour;
  const { even, odd } = deal;
  tell(
    `The vector of a digit is its ${DIMENSION} grey values; its label is stored as metadata. The even digits go to one ` +
      'collection, the odd ones to another. Four digits are kept back: you will meet them later.',
  );
  // One after another, so that each goes to the shard with the fewest collections.
  const ids: number[] = [];
  for (const name of COLLECTIONS) {
    const wanted = { name, dimension: DIMENSION, metric: 'squared_l2' } as const;
    ids.push((await vouch.createCollection(wanted, options)).id);
  }
  const stored = await withProgress('loading', even.length + odd.length, ['digit', 'digits'], (progress) =>
    Promise.all([fill(tour, 'even', even, progress), fill(tour, 'odd', odd, progress)]),
  );

  const collections = await vouch.collections(options);
  const owners = await cluster.owners();
  const shards = ids.map((id) => owners.get(id));
  for (const [at, { name, vectors }] of stored.entries()) {
    const count = collections.find((collection) => collection.name === name)?.recordCount;
    expect(count === vectors.size, `${name} should hold ${counted(vectors.size, 'record')} and holds ${count}`);
    fact('done', name, `${counted(count, 'record')}, on shard ${shards[at]}`);
  }
  gap();
  const [shardOfEven, shardOfOdd] = shards;
  expect(shardOfEven !== undefined && shardOfEven !== shardOfOdd, 'the two collections are not on two shards');
  tell('Each batch was in its collection’s log, chained by hash, before its answer.');
  return { stored, idOfEven: ids[0]!, shardOfEven };
}

/** Inserts the digits in batches. The service chooses the record ids. */
async function fill(
  { vouch, options }: Tour,
  name: string,
  digits: readonly Digit[],
  progress: Progress,
): Promise<Stored> {
  const vectors = new Map<number, Int32Array>();
  for (let from = 0; from < digits.length; from += BATCH) {
    const batch = digits.slice(from, from + BATCH);
    const request = { batch: batch.map(({ pixels }) => pixels), metadata: batch.map(({ label }) => ({ label })) };
    const { ids } = await vouch.collection(name).batchInsert(request, options);
    for (const [at, { pixels }] of batch.entries()) vectors.set(ids[at]!, quantise(pixels));
    progress.advance(batch.length);
  }
  return { name, vectors };
}
