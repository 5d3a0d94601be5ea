/**
 * One large collection of a standalone service, over HTTP: ingest as msgpack, build of an HNSW index, memory, and a restart. Searches
 * are exact or of the index, with and without filters. The rows are made while they are sent.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Vouch } from '../client/index.js';
import type { Progress } from '../scripts/terminal/progress.js';
import { Client } from './httpClient.js';
import { type LoadResult, runLoad } from './httpLoad.js';
import { idsIn } from './ingest.js';
import { K } from './inProcess.js';
import { measured, secondsOf } from './measured.js';
import type { Sizes } from './options.js';
import { residentBytes } from './processMemory.js';
import { recallAmong } from './recall.js';
import { median, type Row, rowAbout } from './row.js';
import { StartedService } from './startedService.js';
import { clusteredRows, generator } from './vectors.js';

/** Project of the key that a service makes at its first start. */
const PROJECT = 'default';
const COLLECTION = 'large';
const QUERIES = 200;
/** Queries of a turn of a filter: the filters take turns, so that other work on the machine slows all of them. */
const TURN = 20;
const INGEST_IN_FLIGHT = 4;
const SEARCHES_IN_FLIGHT = 8;
const RECORDS_AT_ONCE = 1_000;
const POLL_MS = 50;
/** Until a large collection is open, the service answers 503 after some seconds. */
const OPENING_MS_MAX = 600_000;
const RETRIES = 1_000;
/** Time after which a service reads its metrics again. */
const METRICS_KEPT_MS = 1_100;
const GIB = 2 ** 30;
/** Shares of the records that have the value of a filter. */
const SHARES = [0.1, 0.01, 0.001] as const;
const shareName = (share: number): string => `${100 * share} %`;
/** Each query has a filter of its own, or all have one: the service keeps the selections of the latest filters. */
const SELECTIONS: readonly Selection[] = [
  { name: shareName(1), filter: () => undefined },
  ...SHARES.map(shareName).flatMap((share) => [
    { name: `${share} by new filters`, filter: (query: number) => ({ share: { $in: [share, `${query}`] } }) },
    { name: `${share} by one filter`, filter: () => ({ share }) },
  ]),
];

/** Records that searches find. */
interface Selection {
  readonly name: string;
  /** Returns the filter of a query. */
  readonly filter: (query: number) => object | undefined;
}

/** Searches with one filter, a query each. */
interface Searches {
  readonly ids: readonly number[][];
  readonly p50Ms: number;
}

export const benchLarge = (sizes: Sizes): Promise<Row[]> =>
  measured('large', 5, async (progress) => {
    const service = await StartedService.start('standalone');
    try {
      const key = await service.newKey(PROJECT);
      return await new Bench(service, key, { sizes, progress }).rows();
    } finally {
      await service.stop();
    }
  });

class Bench {
  readonly #rows: Row[] = [];
  readonly #row: ReturnType<typeof rowAbout>;
  readonly #nextRows: (rows: number) => Float32Array;
  readonly #query: Float32Array;
  /** Searches for each query, by filter. */
  readonly #bodies: readonly string[][];

  constructor(
    private readonly service: StartedService,
    /** A key that may read metrics. */
    private readonly key: string,
    private readonly options: { readonly sizes: Sizes; readonly progress: Progress },
  ) {
    const { largeRecords: count, largeDimension: dimension } = options.sizes;
    this.#row = rowAbout('large', `clusters ${count} × ${dimension}`);
    this.#nextRows = clusteredRows(dimension, count);
    const values = this.#nextRows(QUERIES);
    const queries = Array.from({ length: QUERIES }, (_, row) => vectorOf(values, dimension, row));
    this.#query = queries[0]!;
    this.#bodies = SELECTIONS.map(({ filter }) => queries.map((query, number) => bodyOf(query, filter(number))));
  }

  async rows(): Promise<Row[]> {
    await this.#ingest();
    const exact = await this.#searches();
    this.#addAll('exact', exact, exact);
    await this.#memory('without an index');
    this.options.progress.advance(1);
    await this.#build();
    const found = await this.#searches();
    this.#addAll('hnsw', found, exact);
    for (const [at, share] of (await this.#exactShares()).entries())
      this.#add(`hnsw, search of ${SELECTIONS[at]!.name}: scanned exactly`, share, 'of all');
    await this.#throughput();
    await this.#memory('with the index');
    this.options.progress.advance(1);
    await this.#restart();
    return this.#rows;
  }

  async #ingest(): Promise<void> {
    const { largeRecords: count, largeDimension: dimension } = this.options.sizes;
    await this.#vouch.createCollection({ name: COLLECTION, dimension, metric: 'squared_l2' });
    const seconds = await secondsOf(() =>
      this.#collection.insertMany(this.#records(), { concurrency: INGEST_IN_FLIGHT }),
    );
    this.#add('ingest, as msgpack', count / seconds, 'records/s');
    this.options.progress.advance(1);
  }

  /** Yields the records, each with the share that it belongs to. */
  *#records() {
    const { largeRecords: count, largeDimension: dimension } = this.options.sizes;
    const random = generator(count);
    for (let from = 0; from < count; from += RECORDS_AT_ONCE) {
      const rows = Math.min(RECORDS_AT_ONCE, count - from);
      const values = this.#nextRows(rows);
      for (let row = 0; row < rows; row++)
        yield { values: vectorOf(values, dimension, row), metadata: { share: shareName(drawnShare(random())) } };
    }
  }

  async #build(): Promise<void> {
    const seconds = await secondsOf(async () => {
      await this.#collection.configureIndex({ type: 'hnsw' });
      await this.#indexServes();
    });
    this.#add('hnsw: built', seconds, 's');
    this.options.progress.advance(1);
  }

  async #indexServes(): Promise<void> {
    const { activeType, error } = await this.#collection.waitForIndex({ pollMs: POLL_MS });
    if (activeType !== 'hnsw') throw new Error(`the index does not serve: ${error ?? activeType}`);
  }

  /** Runs lone searches with all filters in turns. */
  async #searches(): Promise<Searches[]> {
    const taken = SELECTIONS.map(() => ({ ids: [] as number[][], latenciesMs: [] as number[] }));
    for (let from = 0; from < QUERIES; from += TURN)
      for (const [at, { ids, latenciesMs }] of taken.entries()) {
        const turn = await this.#load(this.#bodies[at]!.slice(from, from + TURN), 1);
        ids.push(...turn.answers.map(idsIn));
        latenciesMs.push(...turn.latenciesMs);
      }
    return taken.map(({ ids, latenciesMs }) => ({ ids, p50Ms: median(latenciesMs) }));
  }

  /** Returns for each filter the share of the searches that scan vectors exactly. */
  async #exactShares(): Promise<number[]> {
    const shares: number[] = [];
    let before = await this.#exactScans();
    for (const bodies of this.#bodies) {
      await this.#load(bodies, 1);
      const after = await this.#exactScans();
      shares.push((after - before) / bodies.length);
      before = after;
    }
    return shares;
  }

  #addAll(how: string, found: readonly Searches[], exact: readonly Searches[]): void {
    for (const [at, { ids, p50Ms }] of found.entries()) {
      const name = `${how}, search of ${SELECTIONS[at]!.name}`;
      this.#add(`${name}: p50`, p50Ms, 'ms');
      if (at > 0) this.#add(`${name}: p50 / that of ${SELECTIONS[0]!.name}`, p50Ms / found[0]!.p50Ms, 'times');
      if (found !== exact) this.#add(`${name}: recall@${K}`, recallAmong(exact[at]!.ids, ids), '');
    }
  }

  async #throughput(): Promise<void> {
    const { largeSearches } = this.options.sizes;
    const bodies = Array.from({ length: largeSearches }, (_, i) => this.#bodies[0]![i % QUERIES]!);
    const { seconds } = await this.#load(bodies, SEARCHES_IN_FLIGHT);
    this.#add(`hnsw, ${SEARCHES_IN_FLIGHT} in flight: searches`, largeSearches / seconds, '/s');
  }

  async #memory(when: string): Promise<void> {
    const resident = await residentBytes(await this.service.processIds());
    const bytes = [...resident.values()].reduce((sum, one) => sum + one, 0);
    this.#add(`resident memory ${when}`, bytes / GIB, 'GiB');
  }

  /** Restarts the service. The first search opens the collection; exact search serves until the index is loaded. */
  async #restart(): Promise<void> {
    const { stop, start } = await this.service.restart();
    const first = await secondsOf(() => this.#collection.search({ query: this.#query, k: K, rerank: false }));
    const index = await secondsOf(() => this.#indexServes());
    this.#add('stopped', stop, 's');
    this.#add('restart: first search', start + first, 's');
    this.#add('restart: index serves', start + first + index, 's');
    await this.#memory('after the restart');
    this.options.progress.advance(1);
  }

  /** Returns the number of exact scans so far, when the service reads its metrics again. */
  async #exactScans(): Promise<number> {
    await delay(METRICS_KEPT_MS);
    return this.#client.metric('vouch_exact_scans_total');
  }

  #load(bodies: readonly string[], inFlight: number): Promise<LoadResult> {
    const requests = bodies.map((body) => this.#client.requestText('/v1/search', body));
    return runLoad({
      ...this.#client.address,
      ...{ inFlight, requests: requests.length, request: (i) => requests[i]! },
    });
  }

  #add(name: string, value: number, unit: string): void {
    this.#rows.push(this.#row(name, value, unit));
  }

  /** A client that waits until a large collection is open. A restart gives the service another port. */
  get #vouch(): Vouch {
    return new Vouch({ url: this.service.url, apiKey: this.key, timeoutMs: OPENING_MS_MAX, retries: RETRIES });
  }

  get #collection() {
    return this.#vouch.collection(COLLECTION);
  }

  get #client(): Client {
    return new Client(this.service.url, this.key);
  }
}

const vectorOf = (values: Float32Array, dimension: number, row: number): Float32Array =>
  values.subarray(row * dimension, (row + 1) * dimension);

/** The share of a record; 1 for one that no filter selects. */
function drawnShare(drawn: number): number {
  let below = 0;
  for (const share of SHARES) {
    below += share;
    if (drawn < below) return share;
  }
  return 1;
}

const bodyOf = (query: Float32Array, filter: object | undefined): string =>
  JSON.stringify({ collection: COLLECTION, query: Array.from(query), k: K, rerank: false, metadata_filter: filter });
