import { quantise } from '../../../shared/fixedPoint.js';
import { grouped } from '../../terminal/line.js';
import { type Progress, showProgress } from '../../terminal/progress.js';
import type { DemoClient } from '../client.js';
import { DIMENSION, type Digit } from '../digits.js';
import { expect } from '../expectation.js';
import type { Stored } from '../nearest.js';
import { fact, gap, tell } from '../story.js';
import { COLLECTIONS, type Loaded, type Tour } from '../tour.js';

const BATCH = 250;

export async function load({ cluster, client, deal }: Tour): Promise<Loaded> {
  const { even, odd } = deal;
  tell(
    `A digit is ${DIMENSION} grey values, and that is its vector; what it shows goes along as metadata. The even ` +
      'ones go to one collection, the odd ones to another. Four digits stay out: you will meet them later.',
  );
  // One after another: each goes to the shard that has least by then.
  const ids: number[] = [];
  for (const name of COLLECTIONS) ids.push((await client.create(name, DIMENSION)).id);
  const progress = showProgress('loading', even.length + odd.length, 'digits');
  const filling = [fill(client, 'even', even, progress), fill(client, 'odd', odd, progress)];
  const stored = await Promise.all(filling).catch((error: unknown) => {
    progress.abandon();
    throw error;
  });
  progress.finish();

  const { collections } = await client.collections();
  const owners = await cluster.owners();
  const shards = ids.map((id) => owners.get(id));
  for (const [at, { name, vectors }] of stored.entries()) {
    const count = collections.find((collection) => collection.name === name)?.record_count;
    expect(count === vectors.size, `${name} should hold ${vectors.size} records and holds ${count}`);
    fact('done', name, `${grouped(count)} records, on shard ${shards[at]}`);
  }
  gap();
  const [shardOfEven, shardOfOdd] = shards;
  expect(shardOfEven !== undefined && shardOfEven !== shardOfOdd, 'the two collections are not on two shards');
  tell('Each batch was in its collection’s log, chained by hash, before it was answered.');
  return { stored, shardOfEven };
}

/** Batch after batch: the record ids are the service's. */
async function fill(client: DemoClient, name: string, digits: readonly Digit[], progress: Progress): Promise<Stored> {
  const vectors = new Map<number, Int32Array>();
  for (let from = 0; from < digits.length; from += BATCH) {
    const batch = digits.slice(from, from + BATCH);
    const { ids } = await client.insertBatch(
      name,
      batch.map(({ pixels }) => pixels),
      batch.map(({ label }) => ({ label })),
    );
    for (const [at, { pixels }] of batch.entries()) vectors.set(ids[at]!, quantise(pixels));
    progress.advance(batch.length);
  }
  return { name, vectors };
}
