/** Decay with reused slots, so that young rows are among old ones, compared with a plain search of these rows. */
import { Graph } from '../shard/graph/graph.js';
import { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { VectorMemory } from '../shard/kernel/vectorMemory.js';
import { MetadataIndex } from '../shard/metadata/metadataIndex.js';
import { type Searched, searchCollection } from '../shard/search/search.js';
import { InsertionTimes } from '../shard/state/decayTimes.js';
import { TextIndex } from '../shard/text/textIndex.js';
import { systemClock } from '../shared/clock.js';
import type { Decay } from '../shared/protocol/calls.js';
import { nextTurn, Slice } from '../shared/scheduling/slice.js';
import { median, type Row, rowAbout } from './row.js';
import { stateOf } from './stateOf.js';
import { fixedBytes, generator, setText, type VectorSet } from './vectors.js';

const HOUR_MS = 3_600_000;
/** Rows were inserted over this time, at random moments. */
const SPAN_MS = 700 * HOUR_MS;
const KS = [10, 200] as const;
const HALF_LIVES_SECS = { '1 h': 3_600, '7 days': 7 * 86_400 } as const;
const WARM_UP = 10;

export async function benchReusedSlots(set: VectorSet, rounds: number): Promise<Row[]> {
  const nowMs = systemClock.nowMs();
  const vectors = new VectorBlocks(new VectorMemory(), set.dimension);
  const insertions = new InsertionTimes(vectors.shape);
  const random = generator(set.count);
  for (let row = 0; row < set.count; row++) {
    const slot = vectors.acquire();
    vectors.write(slot, row + 1, fixedBytes(set.base, set.dimension, row, row + 1));
    insertions.set(slot, nowMs - Math.floor(SPAN_MS * random()));
    vectors.publish(slot);
  }
  const searched: Searched = {
    vectors,
    insertions,
    index: { serving: 'brute', search: (query, k, eligible) => vectors.search(query, k, nextTurn, { eligible }) },
    metadata: new MetadataIndex(vectors.shape, () => null),
    texts: new TextIndex((slot) => vectors.idOf(slot)),
    graph: new Graph(),
    records: stateOf(vectors),
  };
  try {
    const rows: Row[] = [];
    for (const [name, halfLifeSecs] of Object.entries(HALF_LIVES_SECS))
      for (const k of KS)
        rows.push(await added(searched, set, { k, halfLife: name, decay: { halfLifeSecs, nowMs }, rounds }));
    return rows;
  } finally {
    vectors.destroy();
  }
}

/** Both searches take turns, so that the machine's load affects both alike. */
async function added(
  searched: Searched,
  set: VectorSet,
  { k, halfLife, decay, rounds }: { k: number; halfLife: string; decay: Decay; rounds: number },
): Promise<Row> {
  const timed = async (round: number, options: { decay?: Decay }): Promise<number> => {
    const row = round % set.queryCount;
    const query = new Int32Array(fixedBytes(set.queries, set.dimension, row, row + 1).buffer);
    const call = { op: 'search', query: new Uint8Array(query.buffer), k, ...options } as const;
    const startedMs = systemClock.monotonicMs();
    await searchCollection(searched, query, call, () => new Slice(systemClock, Number.POSITIVE_INFINITY));
    return systemClock.monotonicMs() - startedMs;
  };
  const plainMs: number[] = [];
  const withMs: number[] = [];
  for (let round = -WARM_UP; round < rounds; round++) {
    const plain = await timed(round + WARM_UP, {});
    const more = await timed(round + WARM_UP, { decay });
    if (round < 0) continue;
    plainMs.push(plain);
    withMs.push(more);
  }
  const name = `decay, half-life ${halfLife}, slots reused, k ${k}: added to the p50`;
  return rowAbout('search', setText(set))(name, median(withMs) - median(plainMs), 'ms');
}
