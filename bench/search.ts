/** Cost of each option of an exact search, in the engine, and of unused options. */
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import { systemClock } from '../shared/clock.js';
import type { Filter } from '../shared/model/filter.js';
import type { SearchCall } from '../shared/protocol/calls.js';
import { firstRows } from './indexVectors.js';
import { type Engine, envelope, inEngine, K } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { benchPastSearch } from './pastSearch.js';
import { median, type Row, rowAbout } from './row.js';
import { benchHolds } from './searchHolds.js';
import { CHEAPEST_TENTH, ingestRecords, PastClock, textQueries } from './searchRecords.js';
import { benchReusedSlots } from './searchReused.js';
import { benchUnnamedOptions } from './searchUnnamed.js';
import { fixedBytes, randomVectors, realVectors, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'searched';
const DIMENSION = 100;
const WARM_UP = 20;
const HALF_LIFE_SECS = 86_400;

type Options = Pick<SearchCall, 'filter' | 'decay' | 'text'>;

interface Asked {
  readonly name: string;
  options(text: string): Options;
}

const test = (key: string, test: Extract<Filter, { op: 'test' }>['test']): Filter => ({
  op: 'test',
  path: [key],
  test,
});
const decay = () => ({ halfLifeSecs: HALF_LIFE_SECS, nowMs: systemClock.nowMs() });
const GROUP = test('group', { kind: 'eq', value: 3 });
const CHEAP = test('price', { kind: 'lt', value: CHEAPEST_TENTH });

const ASKED: readonly Asked[] = [
  { name: 'decay', options: () => ({ decay: decay() }) },
  { name: 'a filter at 10%, equal', options: () => ({ filter: GROUP }) },
  { name: 'a filter at 10%, a range', options: () => ({ filter: CHEAP }) },
  { name: 'BM25', options: (query) => ({ text: { query, hybrid: false } }) },
  { name: 'BM25, hybrid', options: (query) => ({ text: { query, hybrid: true } }) },
  {
    name: 'decay, a filter at 10% and hybrid BM25 together',
    options: (query) => ({ decay: decay(), filter: CHEAP, text: { query, hybrid: true } }),
  },
];

export async function benchSearch(sizes: Sizes, dataFolder: string | undefined): Promise<Row[]> {
  const { searchRecords, searchRounds } = sizes;
  const all = dataFolder === undefined ? randomVectors(DIMENSION, searchRecords) : await realVectors(dataFolder);
  const set = firstRows(all, searchRecords);
  return measured('search', ASKED.length + 4, async (progress) => {
    const rows: Row[] = [];
    const clock = new PastClock(set);
    await inEngine(async (engine) => {
      const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
      const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
      await ingestRecords(engine, collection, set, clock);
      for (const asked of ASKED) {
        rows.push(...(await inTurns({ backend: engine.backend, collection }, set, asked, searchRounds)));
        progress.advance(1);
      }
    }, clock);
    rows.push(...(await benchReusedSlots(set, searchRounds)));
    progress.advance(1);
    rows.push(...(await benchHolds(sizes.longQueryTexts)));
    progress.advance(1);
    rows.push(...(await benchUnnamedOptions(searchRounds)));
    progress.advance(1);
    rows.push(...(await benchPastSearch(searchRecords, searchRounds)));
    progress.advance(1);
    return rows;
  });
}

/** A plain search and one with the option take turns, so that the machine's load affects both alike. */
async function inTurns(
  { backend, collection }: { readonly backend: Engine['backend']; readonly collection: Collection },
  set: VectorSet,
  { name, options }: Asked,
  rounds: number,
): Promise<Row[]> {
  const texts = textQueries(set.queryCount);
  const timed = async (row: number, more: Options): Promise<number> => {
    const query = fixedBytes(set.queries, set.dimension, row, row + 1);
    const startedMs = systemClock.monotonicMs();
    await backend.call(collection, { op: 'search', query, k: K, ...more }, envelope());
    return systemClock.monotonicMs() - startedMs;
  };
  for (let i = 0; i < WARM_UP; i++) await timed(i % set.queryCount, i % 2 ? {} : options(texts[0] as string));
  const plainMs = new Float64Array(rounds);
  const withMs = new Float64Array(rounds);
  for (let i = 0; i < rounds; i++) {
    const row = i % set.queryCount;
    plainMs[i] = await timed(row, {});
    withMs[i] = await timed(row, options(texts[row] as string));
  }
  const row = rowAbout('search', setText(set));
  const [plain, more] = [median(plainMs), median(withMs)];
  return [
    row(`beside ${name}: plain exact search p50`, plain, 'ms'),
    row(`${name}: added to the p50`, more - plain, 'ms'),
  ];
}
