/**
 * The index of one collection: what it is to be, the generation that serves, and the one that is on its way.
 *
 *   none ──asked for, or grown to need one──▶ building ──opened──▶ active ──replaced or dropped──▶ retired
 *                                                │
 *                                                └──error or cancelled──▶ failed (what served before serves on)
 *
 * The generation that serves is swapped in one step; a search keeps the one it began with.
 */
import { isDeepStrictEqual } from 'node:util';
import { messageOf, unreachable, VouchError } from '../../shared/errors.js';
import { type DesiredKind, EXACT, type IndexKind, type IndexSpec, type IndexState } from '../../shared/indexSpec.js';
import type { Hits } from '../kernel/scanScratch.js';
import type { SlotSet } from '../kernel/slotSet.js';
import { cutShort, moved } from '../moving.js';
import { nextTurn, type Slice } from '../pause.js';
import type { Absorbing } from './absorber.js';
import { freeze } from './build/frozenRows.js';
import { Cancelled } from './build/progress.js';
import { Building, type BuildingFacts } from './building.js';
import { logProgress } from './buildLog.js';
import { desiredSpec } from './desiredSpecs.js';
import { GenerationMaker, type Made, Unusable } from './generationMaker.js';
import type { IndexedCollection } from './indexedCollection.js';
import type { Ended } from './indexMetrics.js';
import { kindFor, nextStep } from './maintenance.js';
import type { IndexServices } from './services.js';
import type { SavedGeneration } from './store/generationFiles.js';

/** After a failed build, doubled from one to the next. */
const RETRY_FIRST_MS = 60_000;
const RETRY_MOST_MS = 3_600_000;
/** At a close, more than this is absorbed again at the next start rather than written now. */
const PERSIST_AT_CLOSE_BYTES_MAX = 256 << 20;

const inProgress = (): VouchError =>
  new VouchError('conflict', 'a build of this index is already in progress; wait until it has ended');

interface StartOptions {
  readonly asked: boolean;
  /** From nothing, though a saved generation could be extended. */
  readonly fromScratch: boolean;
}

export class CollectionIndex implements Absorbing {
  readonly #maker: GenerationMaker;
  #desired: IndexSpec = EXACT;
  #active: Made | undefined;
  #building: Building | undefined;
  /** Why the last build failed, until one succeeds. */
  #error: string | undefined;
  #retryMs = RETRY_FIRST_MS;
  #retry: NodeJS.Timeout | undefined;
  /** A change of what is desired, a drop or a save: one after another, and no build begins meanwhile. */
  #changes: Promise<void> | undefined;
  #isConfiguring = false;
  #closed = false;

  private constructor(
    private readonly collection: IndexedCollection,
    private readonly services: IndexServices,
  ) {
    this.#maker = new GenerationMaker(collection, services);
  }

  /** Reads what is desired; a saved generation is then loaded, or one is built, while exact search serves. */
  static async open(collection: IndexedCollection, services: IndexServices): Promise<CollectionIndex> {
    const index = new CollectionIndex(collection, services);
    index.#desired = await desiredSpec(services.desired, collection.config);
    await index.#begin();
    return index;
  }

  /** What a listing shows. */
  get serving(): IndexKind | 'brute' {
    return this.#active?.generation.kind ?? 'brute';
  }

  /** Rows that no index has absorbed, though one is there. */
  get tail(): number {
    return this.#active?.generation.tail ?? 0;
  }

  get bytes(): number {
    return this.#active?.generation.bytes ?? 0;
  }

  /** Of the generation on its way: 0 to 1. */
  get progress(): number | undefined {
    return this.#building?.progress;
  }

  state(): IndexState {
    const active = this.#active?.generation;
    const building = this.#underWay?.facts;
    return {
      activeKind: active?.kind ?? 'none',
      status: this.#status(),
      desiredKind: this.#desired.kind,
      activeGeneration: active?.number ?? null,
      buildingGeneration: building?.number ?? null,
      buildStartedAtMs: building?.startedAtMs ?? null,
      baseSequence: building?.baseSequence ?? null,
      error: this.#error ?? null,
    };
  }

  /** The nearest `k` live rows, of those in `eligible` where it is given. */
  search(query: Int32Array, k: number, eligible?: SlotSet): Promise<Hits> {
    return this.#active === undefined
      ? this.collection.vectors.search(query, k, nextTurn, { eligible })
      : this.#active.generation.search(query, k, eligible);
  }

  /** The row at `slot` dies: it is not found any more, and its vector may be overwritten. */
  removed(slot: number): void {
    this.#active?.generation.remove(slot);
    this.#building?.died.push(slot);
  }

  /** To be called after writes: begins whatever the index needs next, in the background. */
  maintain(): void {
    if (this.#isOccupied) return;
    const step = nextStep(this.#desired.kind, this.collection.vectors.liveCount, this.#active?.generation.serving);
    switch (step) {
      case 'nothing':
        return;
      case 'absorb':
        this.services.absorber.want(this);
        return;
      case 'persist':
        void this.#inBackground(() => this.#persist());
        return;
      case 'extend':
      case 'build':
        this.#start({ asked: false, fromScratch: step === 'build' });
        return;
      case 'drop':
        void this.#inBackground(() => this.#drop());
        return;
      default:
        unreachable(step);
    }
  }

  absorb(slice: Slice): boolean {
    if (this.#isOccupied || this.#active === undefined) return false;
    if (this.#active.generation.absorb(slice)) return true;
    this.maintain();
    return false;
  }

  /** Throws `conflict` while a build that was asked for is under way; a drop cancels it. */
  async configure(spec: IndexSpec): Promise<IndexState> {
    if (spec.kind !== 'brute' && this.#underWay?.facts.asked) throw inProgress();
    await this.#replace({ asked: true, fromScratch: false }, spec);
    return this.state();
  }

  /** What is desired may have been changed by another shard: it is read again, and what it asks for begins. */
  async asDesired(): Promise<void> {
    const spec = await desiredSpec(this.services.desired, this.collection.config);
    if (this.#closed || this.#isConfiguring || isDeepStrictEqual(spec, this.#desired)) return;
    this.#asDesiredNow(spec);
    await this.#replace({ asked: false, fromScratch: false }, undefined);
  }

  /** Builds from scratch, as `kind` where it is given; resolves when the new generation serves. */
  async rebuild(kind: DesiredKind | null): Promise<void> {
    const spec = kind === null || kind === this.#desired.kind ? undefined : { kind, parameters: {} };
    const building = await this.#replace({ asked: true, fromScratch: true }, spec);
    const failure = await building?.done;
    if (this.#closed) throw moved();
    if (failure !== undefined) throw new VouchError('internal_error', `the index was not rebuilt: ${failure}`);
  }

  /** Begins nothing any more, and ends what is being built: the collection is about to be closed. */
  hurry(): void {
    this.#closed = true;
    clearTimeout(this.#retry);
    this.services.absorber.forget(this);
    this.#building?.cancel();
  }

  /** `keep`: this shard will open the collection again, and need not absorb again what the index has. */
  async close({ keep }: { keep: boolean }): Promise<void> {
    this.hurry();
    await this.#cancelBuilding();
    await this.#changes;
    const unsaved = this.#active?.generation.serving.unsaved ?? 0;
    if (keep && unsaved > 0 && this.bytes <= PERSIST_AT_CLOSE_BYTES_MAX) await this.#persist();
    await this.#active?.generation.retire();
  }

  get #isOccupied(): boolean {
    if (this.#closed || this.#isConfiguring) return true;
    return this.#building !== undefined || this.#changes !== undefined || this.#retry !== undefined;
  }

  /** What is being built and does not serve yet. */
  get #underWay(): Building | undefined {
    return this.#building?.facts.number === this.#active?.generation.number ? undefined : this.#building;
  }

  #status(): IndexState['status'] {
    const building = this.#underWay;
    if (building !== undefined && (building.facts.asked || this.#active === undefined)) return 'building';
    if (this.#active !== undefined) return 'active';
    return this.#error === undefined ? 'none' : 'failed';
  }

  #kind(): IndexKind | undefined {
    return kindFor(this.#desired.kind, this.collection.vectors.liveCount, this.#active?.generation.kind);
  }

  async #begin(): Promise<void> {
    const isSaved = this.services.store.kindOf(this.collection.config.id) !== undefined;
    if (isSaved) await this.#inBackground(() => this.#useSaved());
    else this.maintain();
  }

  async #useSaved(): Promise<void> {
    const { store } = this.services;
    const { id } = this.collection.config;
    const saved = await store.latest(id);
    const isDesired = saved?.facts.kind === (this.#desired.kind === 'auto' ? 'hnsw' : this.#desired.kind);
    if (saved !== undefined && isDesired) this.#load(saved);
    else await store.removeAll(id);
  }

  /** Instead of what is being built: what `spec`, or what was desired before, asks for. Nothing, where it is dropped. */
  async #replace(options: StartOptions, spec: IndexSpec | undefined): Promise<Building | undefined> {
    if (this.#isConfiguring) throw inProgress();
    this.#isConfiguring = true;
    try {
      await this.#alone(async () => {
        if (spec !== undefined) await this.#desire(spec);
      });
      await this.#cancelBuilding();
      if (this.#kind() !== undefined) return this.#start(options);
      await this.#alone(() => this.#drop());
      return undefined;
    } finally {
      this.#isConfiguring = false;
    }
  }

  async #desire(spec: IndexSpec): Promise<void> {
    await this.services.desired.write(this.collection.config, spec);
    this.#asDesiredNow(spec);
  }

  #asDesiredNow(spec: IndexSpec): void {
    this.#desired = spec;
    this.#error = undefined;
    this.#retryMs = RETRY_FIRST_MS;
    clearTimeout(this.#retry);
    this.#retry = undefined;
  }

  /** Runs `work` after the changes that came before. */
  async #alone(work: () => Promise<void>): Promise<void> {
    const running = Promise.resolve(this.#changes).then(work);
    const ended = running.catch(() => undefined);
    this.#changes = ended;
    await ended;
    if (this.#changes === ended) this.#changes = undefined;
    await running;
  }

  async #inBackground(work: () => Promise<void>): Promise<void> {
    try {
      await this.#alone(work);
    } catch (error) {
      const { id: collectionId } = this.collection.config;
      this.services.logger.warn({ collectionId, reason: messageOf(error) }, 'an index could not be changed or saved');
      this.#failed(error);
    }
    this.maintain();
  }

  async #cancelBuilding(): Promise<void> {
    this.#building?.cancel();
    await this.#building?.done;
  }

  async #drop(): Promise<void> {
    const before = this.#active;
    this.#active = undefined;
    await before?.generation.retire();
    await this.services.store.removeAll(this.collection.config.id);
  }

  async #persist(): Promise<void> {
    const { generation } = this.#active as Made;
    const saved = await this.#maker.persist(generation);
    this.#active = { generation, saved };
    await this.#keepOnly(saved.facts.number);
  }

  /** From the files of the last run. */
  #load(saved: SavedGeneration): void {
    const { kind, number, sequence: baseSequence } = saved.facts;
    const building = new Building({ ...this.#facts(kind, number, false), baseSequence });
    const ended = this.services.metrics.startLoad(kind);
    this.#run(building, ended, () => this.#maker.load(building, saved));
  }

  #start({ asked, fromScratch }: StartOptions): Building {
    const kind = this.#kind();
    if (kind === undefined) throw new Error('exact search is desired');
    if (this.#closed) throw cutShort();
    const number = this.services.store.nextNumber(this.collection.config.id);
    const building = new Building(this.#facts(kind, number, asked));
    const ended = this.services.metrics.startBuild(kind);
    // At the very sequence that the building says: it begins to run later.
    const blocks = freeze(this.collection.vectors);
    this.#run(building, ended, () => this.#maker.build(building, blocks, fromScratch ? undefined : this.#active));
    return building;
  }

  #facts(kind: IndexKind, number: number, asked: boolean): BuildingFacts {
    const { parameters } = this.#desired;
    const startedAtMs = this.services.clock.nowMs();
    return { kind, number, asked, parameters, startedAtMs, baseSequence: this.collection.sequence };
  }

  #run(building: Building, ended: Ended, make: () => Promise<Made>): void {
    this.#building = building;
    building.done = this.#runToEnd(building, ended, make).then((failure) => {
      this.#building = undefined;
      this.maintain();
      return failure;
    });
  }

  /** Returns why it failed, where it did. No slot is given to another row before it has ended. */
  async #runToEnd(building: Building, ended: Ended, make: () => Promise<Made>): Promise<string | undefined> {
    const { logger } = this.services;
    const { vectors, config } = this.collection;
    const { kind, number } = building.facts;
    const about = { collectionId: config.id, kind, generation: number };
    const stopLogging = logProgress(logger, about, () => building.progress);
    const scan = vectors.beginScan();
    try {
      // Whoever asked is told first that it has begun.
      await nextTurn();
      await this.#activate(building, await make());
      ended('active');
      logger.info(about, 'an index serves');
      return undefined;
    } catch (error) {
      ended(error instanceof Cancelled ? 'cancelled' : 'failed');
      if (error instanceof Cancelled) return 'it was cancelled';
      this.#failed(error);
      logger.warn({ ...about, reason: messageOf(error) }, 'an index was not built; what served before serves on');
      return messageOf(error);
    } finally {
      vectors.endScan(scan);
      stopLogging();
    }
  }

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
    this.#retryMs = RETRY_FIRST_MS;
    await before?.generation.retire();
    await this.#keepOnly(made.generation.number);
  }

  /** What cannot be removed now is removed with the next generation. */
  async #keepOnly(number: number): Promise<void> {
    const { store, logger } = this.services;
    const { id: collectionId } = this.collection.config;
    await store.keepOnly(collectionId, number).catch((error: unknown) => {
      logger.warn({ collectionId, reason: messageOf(error) }, 'an index that was replaced is still on disk');
    });
  }

  #failed(error: unknown): void {
    this.#error = messageOf(error);
    // What was damaged is built anew at once; what could not be built is tried again later.
    if (error instanceof Unusable || this.#closed) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.maintain();
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MOST_MS);
  }
}
