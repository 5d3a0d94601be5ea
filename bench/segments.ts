/** An `hnsw` index of several segments beside one graph of all these rows: build, load, memory, and searches with filters. */
import type { Generation } from '../shard/index/generation.js';
import { REGION_BYTES_MAX } from '../shard/index/hnsw/graphMemory.js';
import { SlotSet } from '../shard/kernel/slotSet.js';
import { systemClock } from '../shared/clock.js';
import { nextTurn } from '../shared/scheduling/slice.js';
import { withDelays } from './delays.js';
import { IndexAlone } from './indexAlone.js';
import { K } from './inProcess.js';
import { measured } from './measured.js';
import type { Sizes } from './options.js';
import { recallAmong } from './recall.js';
import { median, type Row, rowAbout } from './row.js';
import { type TimedSearches, timedSearches } from './timedSearches.js';
import { clusteredVectors, generator, setText, type VectorSet } from './vectors.js';

const DIMENSION = 128;
/** Bytes of a node of DIMENSION dimensions, with its links. */
const NODE_BYTES = 278;
/** Shares of the rows that a filter selects. */
const SELECTIVITIES = [1, 0.1, 0.01, 0.001];

/** Searches for a query among the eligible rows, or among all. */
type Search = (query: Int32Array, eligible: SlotSet | undefined) => Promise<{ readonly ids: Float64Array }>;

export const benchSegments = ({ segmentRecords, segmentSearches }: Sizes): Promise<Row[]> =>
  measured('segments', 3, async (progress) => {
    const set = clusteredVectors(DIMENSION, segmentRecords);
    const alone = await IndexAlone.of(set);
    try {
      const bench = new Bench(set, alone, segmentSearches);
      const exact = await bench.searches((query, eligible) => alone.vectors.search(query, K, nextTurn, { eligible }));
      const rows = bench.rowsOf('exact', exact);
      progress.advance(1);
      // Three segments at least: a region is a power of two.
      const smallBytes = 2 ** Math.floor(Math.log2((NODE_BYTES * segmentRecords) / 3));
      for (const graphBytesMax of [REGION_BYTES_MAX, smallBytes]) {
        rows.push(...(await bench.index(graphBytesMax, exact)));
        progress.advance(1);
      }
      return rows;
    } finally {
      await alone.close();
    }
  });

class Bench {
  readonly #filters: readonly (SlotSet | undefined)[];

  constructor(
    private readonly set: VectorSet,
    private readonly alone: IndexAlone,
    private readonly count: number,
  ) {
    this.#filters = SELECTIVITIES.map((share) => (share === 1 ? undefined : someOf(alone, set.count, share)));
  }

  async index(graphBytesMax: number, exact: readonly TimedSearches[]): Promise<Row[]> {
    const isWhole = graphBytesMax === REGION_BYTES_MAX;
    const about = isWhole ? 'one graph' : `graphs of ${graphBytesMax / 2 ** 20} MiB`;
    const row = rowAbout('segments', `${setText(this.set)}, ${about}`);
    const startedMs = systemClock.monotonicMs();
    await this.alone.build('hnsw', {}, graphBytesMax);
    const builtMs = systemClock.monotonicMs() - startedMs;
    const opened = await withDelays(() => this.alone.open('hnsw', {}));
    const generation: Generation = opened.result;
    try {
      const found = await this.searches(async (query, eligible) => generation.search(query, K, eligible));
      return [
        row('built', builtMs / 1000, 's'),
        row('loaded', opened.ms / 1000, 's'),
        row('loaded: event-loop delay max', opened.maxMs, 'ms'),
        row('memory a record', generation.bytes / this.set.count, 'B'),
        ...this.rowsOf(about, found, exact),
      ];
    } finally {
      await generation.retire();
    }
  }

  /** Runs the searches with each filter. */
  async searches(search: Search): Promise<TimedSearches[]> {
    const all: TimedSearches[] = [];
    for (const eligible of this.#filters)
      all.push(
        await timedSearches(
          this.set,
          this.count,
          async ({ buffer }) => (await search(new Int32Array(buffer), eligible)).ids,
        ),
      );
    return all;
  }

  /** `exact`: the results of exact searches, for the recall. */
  rowsOf(about: string, found: readonly TimedSearches[], exact?: readonly TimedSearches[]): Row[] {
    const row = rowAbout('segments', `${setText(this.set)}, ${about}`);
    return found.flatMap(({ ids, latenciesMs }, at) => {
      const name = `search of ${100 * SELECTIVITIES[at]!} %`;
      const p50 = row(`${name}: p50`, median(latenciesMs), 'ms');
      return exact === undefined ? [p50] : [p50, row(`${name}: recall@${K}`, recallAmong(exact[at]!.ids, ids), '')];
    });
  }
}

function someOf({ vectors }: IndexAlone, rows: number, share: number): SlotSet {
  const random = generator(rows);
  const some = new SlotSet(vectors.shape);
  for (let slot = 0; slot < rows; slot++) if (random() < share) some.add(slot);
  return some;
}
