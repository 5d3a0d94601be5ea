/** Cost of searches of the past in the engine: of a state still in memory, and of a rebuilt one. */
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import { systemClock } from '../shared/clock.js';
import type { SearchCall } from '../shared/protocol/calls.js';
import { withDelays } from './delays.js';
import { type Engine, envelope, inEngine, K } from './inProcess.js';
import { median, type Row, rowAbout } from './row.js';
import { fixedBytes, randomVectors, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'remembered';
const DIMENSION = 128;
const WARM_UP = 20;
/** One record in this many is tombstoned after the searched state. */
const TOMBSTONED_SINCE = 100;
const HALF_LIFE_SECS = 86_400;

type Options = Pick<SearchCall, 'asOf' | 'decay'>;

export const benchPastSearch = (records: number, rounds: number): Promise<Row[]> =>
  inEngine(async (engine) => {
    const set = randomVectors(DIMENSION, records);
    const wanted = { name: COLLECTION, dimension: DIMENSION, index: 'brute' } as const;
    const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
    await engine.ingest(collection, set);
    return compare(engine, collection, set, rounds);
  });

async function compare(engine: Engine, collection: Collection, set: VectorSet, rounds: number): Promise<Row[]> {
  const { backend } = engine;
  const asOf = { logIndex: set.count };
  for (let id = 1; id <= set.count; id += TOMBSTONED_SINCE)
    await backend.call(collection, { op: 'softDelete', id }, envelope());
  const bench = { engine, collection, set };
  const inMemory = await inTurns(bench, rounds, { asOf });
  const decay = { halfLifeSecs: HALF_LIFE_SECS, nowMs: systemClock.nowMs() };
  const decayed = await inTurns(bench, rounds, { asOf, decay });
  // Deletes a record of the searched state, whose vector is then no longer in memory.
  await backend.call(collection, { op: 'delete', id: 2 }, envelope());
  const lost = { logIndex: set.count - 1 };
  const rebuilt = await withDelays(() => timed(bench, 0, { asOf: lost }));
  const kept = await inTurns(bench, rounds, { asOf: lost });
  const row = rowAbout('search', setText(set));
  return [
    row('plain exact search, in turn with searches of a past state in memory: p50', inMemory.plainMs, 'ms'),
    row('a past state in memory: p50', inMemory.moreMs, 'ms'),
    row('a past state in memory: over a plain exact search', inMemory.moreMs / inMemory.plainMs, 'times'),
    row('a past state in memory, with decay: over the same search now', decayed.moreMs / decayed.plainMs, 'times'),
    row('a past state rebuilt from the log', (1000 * set.count) / rebuilt.result, 'events/s'),
    row('while a past state is rebuilt: event-loop delay p99', rebuilt.p99Ms, 'ms'),
    row('while a past state is rebuilt: event-loop delay max', rebuilt.maxMs, 'ms'),
    row('plain exact search, in turn with searches of a past state that was kept: p50', kept.plainMs, 'ms'),
    row('a past state that was kept: p50', kept.moreMs, 'ms'),
    row('a past state that was kept: over a plain exact search', kept.moreMs / kept.plainMs, 'times'),
  ];
}

interface Bench {
  readonly engine: Engine;
  readonly collection: Collection;
  readonly set: VectorSet;
}

async function timed({ engine, collection, set }: Bench, row: number, options: Options): Promise<number> {
  const query = fixedBytes(set.queries, set.dimension, row, row + 1);
  const startedMs = systemClock.monotonicMs();
  await engine.backend.call(collection, { op: 'search', query, k: K, ...options }, envelope());
  return systemClock.monotonicMs() - startedMs;
}

/** Searches of the past and of the present take turns, so that the machine's load affects both alike. */
async function inTurns(bench: Bench, rounds: number, past: Options): Promise<{ plainMs: number; moreMs: number }> {
  const { asOf: _, ...present } = past;
  const { queryCount } = bench.set;
  for (let i = 0; i < WARM_UP; i++) await timed(bench, i % queryCount, i % 2 ? present : past);
  const plainMs = new Float64Array(rounds);
  const moreMs = new Float64Array(rounds);
  for (let i = 0; i < rounds; i++) {
    plainMs[i] = await timed(bench, i % queryCount, present);
    moreMs[i] = await timed(bench, i % queryCount, past);
  }
  return { plainMs: median(plainMs), moreMs: median(moreMs) };
}
