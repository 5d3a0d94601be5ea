/** Recall and latency of each index kind in the engine, compared with an exact scan and with hnswlib. */
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import type { Progress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import type { IndexSpec } from '../shared/model/indexSpec.js';
import { percentile } from './httpLoad.js';
import { IndexAlone, searchAlone } from './indexAlone.js';
import { BareGraph } from './indexBare.js';
import { SETTINGS, type Setting, WIDTHS } from './indexSettings.js';
import { type Engine, envelope, inEngine } from './inProcess.js';
import type { Sizes } from './options.js';
import { recallAmong } from './recall.js';
import { median, type Row, rowAbout } from './row.js';
import { settled } from './settled.js';
import { setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'indexed';
/** Turns of the comparison with the bare library: alternating, so that the machine's load affects both alike. */
const TURNS = 5;
/** The `ef` at which bare hnswlib has recall 0.95 on the word vectors; `ivf` is compared with that. */
const RIVAL = 256;

export const benchIndexesInEngine = (set: VectorSet, { indexSearches }: Sizes, progress: Progress): Promise<Row[]> =>
  inEngine(async (engine) => {
    const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
    const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
    await engine.ingest(collection, set);
    return new IndexBench(engine, collection, set, indexSearches).run(progress);
  });

class IndexBench {
  readonly #rows: Row[] = [];
  readonly #buildMs = new Map<Setting['kind'], number>();

  constructor(
    private readonly engine: Engine,
    private readonly collection: Collection,
    private readonly set: VectorSet,
    private readonly searches: number,
  ) {}

  async run(progress: Progress): Promise<Row[]> {
    const exact = await this.#search();
    this.#add('exact scan: search p50', percentile(exact.latenciesMs, 0.5), 'ms');
    for (const setting of SETTINGS) {
      await this.#measure(setting, exact.ids);
      if (setting.name === `hnsw ef ${WIDTHS.at(-1)}`) await this.#compareWithBare(exact.ids);
      progress.advance(1);
    }
    return this.#rows;
  }

  async #measure({ kind, name, parameters }: Setting, exact: readonly Float64Array[]): Promise<void> {
    const buildMs = await this.#configure({ kind, parameters });
    if (!this.#buildMs.has(kind)) {
      this.#buildMs.set(kind, buildMs);
      this.#add(`${kind}: build`, buildMs / 1000, 's');
    }
    const { ids, latenciesMs } = await this.#search();
    this.#add(`${name}: recall@10`, recallAmong(exact, ids), '');
    this.#add(`${name}: search p50`, percentile(latenciesMs, 0.5), 'ms');
  }

  /** Compares the library with indexes over rows in memory; they take turns, so that the machine's load affects both alike. */
  async #compareWithBare(exact: readonly Float64Array[]): Promise<void> {
    const { set, searches } = this;
    const { graph, buildMs } = BareGraph.build(set);
    this.#add('bare hnswlib: build', buildMs / 1000, 's');
    this.#add('hnsw / bare hnswlib: build', (this.#buildMs.get('hnsw') as number) / buildMs, 'times');
    const alone = await IndexAlone.of(set);
    for (const ef of WIDTHS) {
      this.#add(`bare hnswlib ef ${ef}: recall@10`, recallAmong(exact, graph.search(set, searches, ef).ids), '');
      const bareMs = await this.#inTurns(graph, ef, alone, {
        kind: 'hnsw',
        name: 'hnsw',
        parameters: { efSearch: ef },
      });
      this.#add(`bare hnswlib ef ${ef}: search p50`, bareMs, 'ms');
    }
    for (const setting of SETTINGS) if (setting.kind === 'ivf') await this.#inTurns(graph, RIVAL, alone, setting);
    for (const kind of ['hnsw', 'ivf'] as const) await this.#weigh(alone, SETTINGS.find((one) => one.kind === kind)!);
    await alone.close();
  }

  async #weigh(alone: IndexAlone, { kind, parameters }: Setting): Promise<void> {
    const generation = await alone.open(kind, parameters);
    this.#add(`${kind}: memory a record, besides its vector`, generation.bytes / this.set.count, 'B');
    await generation.retire();
  }

  /** Returns the bare library's time. */
  async #inTurns(graph: BareGraph, ef: number, alone: IndexAlone, setting: Setting): Promise<number> {
    const { set, searches } = this;
    const generation = await alone.open(setting.kind, setting.parameters);
    const turns: { bareMs: number; ownMs: number }[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      const bare = graph.search(set, searches, ef).latenciesMs;
      const own = (await searchAlone(generation, set, searches)).latenciesMs;
      turns.push({ bareMs: percentile(bare, 0.5), ownMs: percentile(own, 0.5) });
    }
    await generation.retire();
    const ratio = median(turns.map(({ bareMs, ownMs }) => ownMs / bareMs));
    this.#add(`${setting.name} alone / bare hnswlib ef ${ef}: search p50`, ratio, 'times');
    return median(turns.map(({ bareMs }) => bareMs));
  }

  #search(): ReturnType<Engine['search']> {
    return this.engine.search(this.collection, this.set, this.searches);
  }

  /** Returns milliseconds until it serves. */
  async #configure(spec: IndexSpec): Promise<number> {
    const { backend } = this.engine;
    const startedMs = systemClock.monotonicMs();
    await backend.call(this.collection, { op: 'configureIndex', spec }, envelope());
    await settled(async () => {
      const { status, error } = await backend.call(this.collection, { op: 'indexState' }, envelope());
      return { status, error };
    });
    return systemClock.monotonicMs() - startedMs;
  }

  #add(figure: string, value: number, unit: string): void {
    this.#rows.push(rowAbout('index', setText(this.set))(figure, value, unit));
  }
}
