/**
 * The index of one collection: the desired one, the active generation, and the one in progress.
 * ```text
 * none ──requested, or large enough──▶ building ──opened──▶ active ──replaced or dropped──▶ retired
 *                                          │
 *                                          └──error or cancelled──▶ failed: the active one continues to serve
 * ```
 *
 * The active generation is replaced in one step. A search keeps the one it began with.
 *
 * An index exists if `maintenance.ts` decides so. Without one every search is exact. With one, `generation.ts` scans exactly if
 * that is cheaper, or if the index finds too few rows. `search/nearestDecayed.ts` decides for a search with decay. A search that
 * has to be repeated, because rows changed meanwhile, is exact at the last try (`search/search.ts`).
 */
import { isDeepStrictEqual } from 'node:util';
import { messageOf, refusal, unreachable, VouchError } from '../../shared/errors/errors.js';
import {
  BRUTE,
  type DesiredKind,
  type IndexKind,
  type IndexSpec,
  type IndexState,
} from '../../shared/model/indexSpec.js';
import { Mutex } from '../../shared/scheduling/mutex.js';
import { BACKOFF, nextDelayMs } from '../../shared/scheduling/retry.js';
import { nextTurn, type Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import { cutShort, moved } from '../../shared/transport/transportErrors.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { Building, type BuildMetric } from './building.js';
import { freeze } from './builds/frozenRows.js';
import { desiredSpec } from './desiredSpecs.js';
import { GenerationMaker, type Made, Unusable } from './generationMaker.js';
import { worthRows } from './hnsw/cost.js';
import { kindFor, nextStep } from './maintenance.js';
import { Cancelled } from './progress.js';
import type { IndexedCollection, IndexServices } from './services.js';

/** Largest index that is written at close. Rows absorbed by a larger one are absorbed again after the next start. */
const PERSIST_AT_CLOSE_BYTES_MAX = 256 << 20;

interface StartOptions {
  readonly requested: boolean;
  /** Builds without a base, even if a saved generation could be extended. */
  readonly fromScratch: boolean;
}

const inProgress = (): VouchError => refusal('conflict', 'building');

export class CollectionIndex {
  readonly #maker: GenerationMaker;
  #desired: IndexSpec = BRUTE;
  #active: Made | undefined;
  #building: Building | undefined;
  /** Error of the last build, until a build succeeds. */
  #error: string | undefined;
  /** Delay of the last retry; undefined after a success. */
  #retryMs: number | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Serialises changes of the desired index, drops and saves. No build begins during one. */
  readonly #changes = new Mutex();
  /** Whether `#replace` runs. */
  #isConfiguring = false;
  #closed = false;

  private constructor(
    private readonly collection: IndexedCollection,
    private readonly services: IndexServices,
  ) {
    this.#maker = new GenerationMaker(collection, services);
  }

  /** Reads the desired index, then loads a saved generation or builds one. Exact search serves meanwhile. */
  static async open(collection: IndexedCollection, services: IndexServices): Promise<CollectionIndex> {
    const index = new CollectionIndex(collection, services);
    index.#desired = await desiredSpec(services.desired, collection.config);
    if (services.store.kindOf(collection.config.id) === undefined) index.maintain();
    else await index.#inBackground(() => index.#useSaved());
    return index;
  }

  /** Kind of the index that answers searches; `brute` without an index. */
  get serving(): IndexKind | 'brute' {
    return this.#active?.generation.parts.kind ?? 'brute';
  }

  /** Kind and parameters of the index that answers searches; BRUTE without an index. */
  get servingSpec(): IndexSpec {
    const parts = this.#active?.generation.parts;
    return parts === undefined ? BRUTE : { kind: parts.kind, parameters: parts.parameters };
  }

  /** Rows that the active index has not absorbed; 0 without an active index. */
  get tail(): number {
    return this.#active?.generation.tail ?? 0;
  }

  get bytes(): number {
    return this.#active?.generation.bytes ?? 0;
  }

  /** Share of the build in progress that is done, 0 to 1; undefined without a build. */
  get progress(): number | undefined {
    return this.#building?.progress;
  }

  state(): IndexState {
    const active = this.#active?.generation;
    const building = this.#inFlight?.facts;
    return {
      activeKind: active?.parts.kind ?? 'none',
      status: this.#status,
      desiredKind: this.#desired.kind,
      activeGeneration: active?.number ?? null,
      segments: active?.segments ?? null,
      buildingGeneration: building?.number ?? null,
      buildStartedAtMs: building?.startedAtMs ?? null,
      buildProgress: building === undefined ? null : (this.progress ?? 0),
      baseSequence: building?.baseSequence ?? null,
      error: this.#error ?? null,
    };
  }

  /** Returns the nearest `k` live rows, optionally only those in `eligible`. */
  search(query: Int32Array, k: number, eligible?: SlotSet): Hits | Promise<Hits> {
    return this.#active === undefined
      ? this.collection.vectors.search(query, k, sliceTurns(), { eligible })
      : this.#active.generation.search(query, k, eligible);
  }

  /** Removes the row at `slot` from searches. Its vector may be overwritten afterwards. */
  remove(slot: number, isReplaced: boolean): void {
    this.#active?.generation.remove(slot, isReplaced);
    this.#building?.died.push(slot);
  }

  /** Begins the next step that the index needs, in the background. Call it after writes. */
  maintain(): void {
    if (this.#isOccupied) return;
    const { shape, liveCount } = this.collection.vectors;
    const step = nextStep(this.#desired.kind, liveCount, this.#active?.generation.serving, worthRows(shape));
    switch (step) {
      case 'nothing':
        return;
      case 'absorb':
        this.services.absorber.want(this.collection.config, this.#absorb);
        return;
      case 'persist':
        void this.#inBackground(() => this.#persist());
        return;
      case 'extend':
      case 'build':
        this.#start({ requested: false, fromScratch: step === 'build' });
        return;
      case 'drop':
        void this.#inBackground(() => this.#drop());
        return;
      default:
        unreachable(step);
    }
  }

  readonly #absorb = (slice: Slice): boolean => {
    if (this.#isOccupied || this.#active === undefined) return false;
    if (this.#active.generation.absorb(slice)) return true;
    this.maintain();
    return false;
  };

  /** Changes the desired index. Throws `conflict` while a requested build is in flight, except for a drop. */
  async configure(spec: IndexSpec): Promise<IndexState> {
    if (spec.kind !== 'brute' && this.#inFlight?.facts.requested) throw inProgress();
    await this.#replace({ requested: true, fromScratch: false }, spec);
    return this.state();
  }

  /** Reads the desired index again, since another shard may have changed it, and begins to build it. */
  async reloadDesired(): Promise<void> {
    const spec = await desiredSpec(this.services.desired, this.collection.config);
    if (this.#closed || this.#isConfiguring || isDeepStrictEqual(spec, this.#desired)) return;
    this.#setDesired(spec);
    await this.#replace({ requested: false, fromScratch: false }, undefined);
  }

  /** Builds from scratch, as another kind if one is given. Resolves when the new generation serves. */
  async rebuild(kind: DesiredKind | null): Promise<void> {
    const spec = kind === null || kind === this.#desired.kind ? undefined : { kind, parameters: {} };
    const building = await this.#replace({ requested: true, fromScratch: true }, spec);
    const failure = await building?.done;
    if (this.#closed) throw moved();
    if (failure !== undefined) throw new VouchError('internal_error', `the index was not rebuilt: ${failure}`);
  }

  /** Cancels the build and begins no other work, since the collection is about to close. */
  cancelBackgroundWork(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.services.absorber.forget(this.#absorb);
    this.#building?.cancel();
  }

  /** Closes the index. `keep`: saves absorbed rows first, since this shard will open the collection again. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.cancelBackgroundWork();
    await this.#building?.done;
    await this.#changes.idle();
    const unsaved = this.#active?.generation.serving.unsaved ?? 0;
    if (keep && unsaved > 0 && this.bytes <= PERSIST_AT_CLOSE_BYTES_MAX) await this.#persist();
    await this.#active?.generation.retire();
  }

  /** Whether no step may begin now. */
  get #isOccupied(): boolean {
    if (this.#closed || this.#isConfiguring) return true;
    return this.#building !== undefined || this.#changes.isBusy || this.#retry !== undefined;
  }

  /** Build whose generation does not serve yet. */
  get #inFlight(): Building | undefined {
    return this.#building?.facts.number === this.#active?.generation.number ? undefined : this.#building;
  }

  get #status(): IndexState['status'] {
    const building = this.#inFlight;
    if (building !== undefined && (building.facts.requested || this.#active === undefined)) return 'building';
    if (this.#active !== undefined) return 'active';
    return this.#error === undefined ? 'none' : 'failed';
  }

  /** Kind for the current number of live rows. */
  get #kind(): IndexKind | 'brute' {
    const { shape, liveCount } = this.collection.vectors;
    return kindFor(this.#desired.kind, liveCount, this.#active?.generation.parts.kind, worthRows(shape));
  }

  /** Loads the saved generation, or removes it if another kind is desired. */
  async #useSaved(): Promise<void> {
    const { store } = this.services;
    const { id } = this.collection.config;
    const saved = await store.latest(id);
    const desired = this.#desired.kind === 'auto' ? 'hnsw' : this.#desired.kind;
    if (saved === undefined || saved.facts.kind !== desired) {
      await store.removeAll(id);
      return;
    }
    const { kind, number, sequence } = saved.facts;
    const building = this.#newBuilding(kind, number, false, sequence);
    this.#run(building, 'vouch_index_load_seconds', () => this.#maker.load(building, saved));
  }

  /** Stores `spec`, if given. Then cancels the build in flight, and builds the desired index or drops the present one. */
  async #replace(options: StartOptions, spec: IndexSpec | undefined): Promise<Building | undefined> {
    if (this.#isConfiguring) throw inProgress();
    this.#isConfiguring = true;
    try {
      await this.#changes.run(async () => {
        if (spec === undefined) return;
        await this.services.desired.write(this.collection.config, spec);
        this.#setDesired(spec);
      });
      this.#building?.cancel();
      await this.#building?.done;
      if (this.#kind !== 'brute') return this.#start(options);
      await this.#changes.run(() => this.#drop());
      return undefined;
    } finally {
      this.#isConfiguring = false;
    }
  }

  #setDesired(spec: IndexSpec): void {
    this.#desired = spec;
    this.#error = undefined;
    this.#retryMs = undefined;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  /** Runs a change of the saved generations, then begins the next step. Never rejects. */
  async #inBackground(work: () => Promise<void>): Promise<void> {
    try {
      await this.#changes.run(work);
    } catch (error) {
      const { id: collectionId } = this.collection.config;
      this.services.logger.warn({ collectionId, reason: messageOf(error) }, 'an index could not be changed or saved');
      this.#failed(error);
    }
    this.maintain();
  }

  async #drop(): Promise<void> {
    const before = this.#active;
    this.#active = undefined;
    await before?.generation.retire();
    await this.services.store.removeAll(this.collection.config.id);
  }

  async #persist(): Promise<void> {
    const { generation, saved: before } = this.#active as Made;
    const saved = await this.#maker.persist(generation);
    this.#active = { generation, saved: saved ?? before };
    if (saved !== undefined) await this.#keepOnly(saved.facts.number);
  }

  #start({ requested, fromScratch }: StartOptions): Building {
    const kind = this.#kind;
    if (kind === 'brute') throw new Error('an exact search needs no build');
    if (this.#closed) throw cutShort();
    const { store } = this.services;
    const { config, sequence, vectors } = this.collection;
    const building = this.#newBuilding(kind, store.nextNumber(config.id), requested, sequence);
    // Freeze the rows at the base sequence of the building, since the build runs later.
    const blocks = freeze(vectors);
    const base = fromScratch ? undefined : this.#active;
    this.#run(building, 'vouch_index_build_seconds', () => this.#maker.build(building, blocks, base));
    return building;
  }

  #newBuilding(kind: IndexKind, number: number, requested: boolean, baseSequence: number): Building {
    const { parameters } = this.#desired;
    const startedAtMs = this.services.clock.nowMs();
    return new Building({ kind, number, requested, parameters, startedAtMs, baseSequence });
  }

  #run(building: Building, metric: BuildMetric, make: () => Promise<Made>): void {
    this.#building = building;
    building.done = this.#runToEnd(building, metric, make).then((failure) => {
      this.#building = undefined;
      this.maintain();
      return failure;
    });
  }

  /** Runs a build to its end. Returns the reason if it failed. Until then no slot is reused. */
  async #runToEnd(building: Building, metric: BuildMetric, make: () => Promise<Made>): Promise<string | undefined> {
    const { logger, metrics } = this.services;
    const ended = metrics.startTimer(metric);
    const { vectors, config } = this.collection;
    const { kind, number } = building.facts;
    const fields = { collectionId: config.id, kind, generation: number };
    const stopLogging = building.logProgress(logger, fields);
    const scan = vectors.beginScan(true);
    try {
      // Wait a turn, so that the caller learns first that the build has begun.
      await nextTurn();
      await this.#activate(building, await make());
      ended({ kind, outcome: 'active' });
      logger.info(fields, 'an index serves');
      return undefined;
    } catch (error) {
      ended({ kind, outcome: error instanceof Cancelled ? 'cancelled' : 'failed' });
      if (error instanceof Cancelled) return 'it was cancelled';
      this.#failed(error);
      const reason = messageOf(error);
      logger.warn({ ...fields, reason }, 'an index was not built; the previous index continues to serve');
      return reason;
    } finally {
      vectors.endScan(scan);
      stopLogging();
    }
  }

  /** Makes a generation the active one. Throws Cancelled if its build was cancelled. */
  async #activate(building: Building, made: Made): Promise<void> {
    try {
      building.assertWanted();
    } catch (error) {
      await made.generation.retire();
      throw error;
    }
    for (const slot of building.died) made.generation.remove(slot);
    const before = this.#active;
    this.#active = made;
    this.#error = undefined;
    this.#retryMs = undefined;
    await before?.generation.retire();
    await this.#keepOnly(made.generation.number);
  }

  /** Removes the files of older generations. Files that cannot be removed now are removed after the next build. */
  async #keepOnly(number: number): Promise<void> {
    const { store, logger } = this.services;
    const { id: collectionId } = this.collection.config;
    await store.keepOnly(collectionId, number).catch((error: unknown) => {
      logger.warn({ collectionId, reason: messageOf(error) }, 'an index that was replaced is still on disk');
    });
  }

  #failed(error: unknown): void {
    this.#error = messageOf(error);
    // A saved index that cannot be used is rebuilt at once. A failed build is repeated later.
    if (error instanceof Unusable || this.#closed) return;
    this.#retryMs = nextDelayMs(BACKOFF.indexBuild, this.#retryMs);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.maintain();
    }, this.#retryMs).unref();
  }
}
