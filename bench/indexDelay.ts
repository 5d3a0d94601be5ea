/** Delay of a shard's event loop while an index is built and takes over, during writes and searches. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Collection } from '../coordinator/cluster/catalog/collection.js';
import type { Progress } from '../scripts/terminal/progress.js';
import { systemClock } from '../shared/clock.js';
import { INDEX_KINDS, type IndexKind } from '../shared/model/indexSpec.js';
import { withDelays } from './delays.js';
import { type Engine, envelope, inEngine, K } from './inProcess.js';
import type { Sizes } from './options.js';
import { median, type Row, rowAbout } from './row.js';
import { settled } from './settled.js';
import { fixedBytes, setText, type VectorSet } from './vectors.js';

const PROJECT = 'bench';
const COLLECTION = 'busy';
const WRITERS = 4;
const PACE_MS = 2;
/** One of so many writes is a deletion. */
const DELETE_EVERY = 4;
const MS = 1e3;

export const benchBuildDelay = (set: VectorSet, { indexDelaySeconds }: Sizes, progress: Progress): Promise<Row[]> =>
  inEngine(async (engine) => {
    // After an index has taken over, it absorbs the records written meanwhile.
    const afterwards = (): Promise<void> => delay(MS * indexDelaySeconds);
    const wanted = { name: COLLECTION, dimension: set.dimension, index: 'brute' } as const;
    const { collection } = await engine.backend.create(PROJECT, wanted, envelope());
    await engine.ingest(collection, set);
    const load = new BackgroundLoad(engine, collection, set);
    const rows = await under(load, set, 'no build', afterwards);
    for (const kind of INDEX_KINDS) {
      rows.push(...(await under(load, set, `${kind} build`, () => build(engine, collection, kind).then(afterwards))));
      progress.advance(1);
    }
    return rows;
  });

async function build({ backend }: Engine, collection: Collection, kind: IndexKind): Promise<void> {
  await backend.call(collection, { op: 'configureIndex', spec: { kind, parameters: {} } }, envelope());
  await settled(() => backend.call(collection, { op: 'indexState' }, envelope()));
}

/** Measures the event loop and the searches while `work` runs under the load. */
async function under(load: BackgroundLoad, set: VectorSet, what: string, work: () => Promise<void>): Promise<Row[]> {
  const stop = load.start();
  const { p99Ms, maxMs } = await withDelays(work).finally(stop);
  const row = rowAbout('index', setText(set));
  return [
    row(`${what} with writes: event-loop delay p99`, p99Ms, 'ms'),
    row(`${what} with writes: event-loop delay max`, maxMs, 'ms'),
    row(`${what} with writes: search p50`, median(load.takeLatencies()), 'ms'),
  ];
}

/** Inserts, deletions and searches at a steady pace, by clients in this thread. */
class BackgroundLoad {
  readonly #written: number[] = [];
  #latenciesMs: number[] = [];
  #writes = 0;

  constructor(
    private readonly engine: Engine,
    private readonly collection: Collection,
    private readonly set: VectorSet,
  ) {}

  /** Starts the load; the returned function ends it. */
  start(): () => Promise<void> {
    let isOn = true;
    const until = async (work: () => Promise<void>): Promise<void> => {
      while (isOn) {
        await work();
        await delay(PACE_MS);
      }
    };
    const lanes = [until(() => this.#search()), ...Array.from({ length: WRITERS }, () => until(() => this.#write()))];
    return async () => {
      isOn = false;
      await Promise.all(lanes);
    };
  }

  takeLatencies(): number[] {
    const latenciesMs = this.#latenciesMs;
    this.#latenciesMs = [];
    return latenciesMs;
  }

  async #write(): Promise<void> {
    const { backend } = this.engine;
    const id = ++this.#writes % DELETE_EVERY === 0 ? this.#written.shift() : undefined;
    if (id !== undefined) {
      await backend.call(this.collection, { op: 'delete', id }, envelope());
      return;
    }
    const record = { vector: this.#query(), tag: 0, requestId: null, metadata: null, text: null };
    this.#written.push((await backend.call(this.collection, { op: 'insert', ...record }, envelope())).id);
  }

  async #search(): Promise<void> {
    const query = this.#query();
    const startedMs = systemClock.monotonicMs();
    await this.engine.backend.call(this.collection, { op: 'search', query, k: K }, envelope());
    this.#latenciesMs.push(systemClock.monotonicMs() - startedMs);
  }

  #query(): Uint8Array {
    const { queries, dimension, queryCount } = this.set;
    const row = (this.#writes + this.#latenciesMs.length) % queryCount;
    return fixedBytes(queries, dimension, row, row + 1);
  }
}
