/** One collection with all that its index needs, over a log in memory and a folder that is deleted at the end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Absorber } from '../../../shard/index/absorber.js';
import { DesiredSpecs } from '../../../shard/index/desiredSpecs.js';
import { SEARCH_PROGRAM } from '../../../shard/index/searchProgram.js';
import { GenerationStore } from '../../../shard/index/store/generationStore.js';
import { ScanThreads } from '../../../shard/kernel/scanThreads.js';
import { MemoryBucket } from '../../../shared/bucket/memory.js';
import { systemClock } from '../../../shared/clock.js';
import { silentLogger } from '../../../shared/logger.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { CollectionConfig } from '../../../shared/model/collectionConfig.js';
import { BRUTE } from '../../../shared/model/indexSpec.js';
import { catalogKey, storedEntry } from '../../../shared/registry/catalogEntry.js';
import { configOf, Engine } from './engine.js';
import { newBuildThread } from './generations.js';
import { ModelledCollection } from './modelledCollection.js';
import { ScriptedLogs } from './scriptedLogs.js';

const ID = 7;

export interface RigOptions {
  readonly dimension: number;
  /** False: rows that are not in an index when it is built stay in the tail. */
  readonly absorbs?: boolean;
  /** Search threads, which get every search; 0 by default. */
  readonly threads?: number;
  /** Size of the largest graph; see `BuildOrder`. */
  readonly graphBytesMax?: number | undefined;
  /** Bytes of vectors and of the open index; unlimited by default. */
  readonly vectorBytesMax?: number | undefined;
}

/** Leaves every tail unchanged. */
class IdleAbsorber extends Absorber {
  override want(): void {}
}

export async function openIndexRig(options: RigOptions): Promise<IndexRig> {
  const rig = new IndexRig(options);
  await rig.open();
  return rig;
}

export class IndexRig {
  readonly collection: ModelledCollection;
  readonly config: CollectionConfig;
  readonly #folder = mkdtempSync(join(tmpdir(), 'vouch-index-'));
  readonly #logs = new ScriptedLogs();
  readonly #catalog = new MemoryBucket({ logger: silentLogger });
  #threads: ScanThreads | undefined;
  #engine: Engine;
  #builds = newBuildThread();

  constructor(private readonly options: RigOptions) {
    const { dimension, absorbs = true } = options;
    this.config = { ...configOf(ID), dimension };
    this.#engine = new Engine(this.#logs);
    this.collection = new ModelledCollection(this.#engine.host(this.config).hosted, absorbs);
  }

  /** Folder of the collection's generations. */
  get indexFolder(): string {
    return join(this.#folder, String(ID));
  }

  payloadPath(generation: number | null): string {
    return join(this.indexFolder, `g${generation}`, 'payload');
  }

  async open(): Promise<void> {
    await this.#catalog.create(
      catalogKey(this.config.project, this.config.name),
      storedEntry({ config: this.config, spec: BRUTE }),
    );
    await this.start();
  }

  /** Starts like a shard's process. */
  async start(): Promise<void> {
    const { absorbs = true, threads: count = 0, graphBytesMax, vectorBytesMax } = this.options;
    this.#builds = newBuildThread({ graphBytesMax });
    const indexes = {
      store: await GenerationStore.open(this.#folder, silentLogger),
      builds: this.#builds,
      absorber: new (absorbs ? Absorber : IdleAbsorber)(systemClock, silentLogger),
      desired: new DesiredSpecs(this.#catalog),
      metrics: new Metrics('shard'),
      clock: systemClock,
      logger: silentLogger,
    };
    this.#threads = new ScanThreads({ count, logger: silentLogger, costMinBytes: 0 }, SEARCH_PROGRAM);
    this.#engine = new Engine(this.#logs, { indexes, threads: this.#threads, vectorBytesMax });
    this.collection.hosted = this.#engine.host(this.config).hosted;
  }

  async stop(): Promise<void> {
    await this.collection.hosted.close({ keep: true });
    await this.#builds.close();
    await this.#threads?.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Vector memory used by blocks of vectors and of indexes. */
  usedBytes(): number {
    return this.#engine.context.memory.usedBytes;
  }

  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
