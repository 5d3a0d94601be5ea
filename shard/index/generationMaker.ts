/** Builds, loads and saves generations of one collection: what runs between the owner's thread, the build thread and the disk. */
import { join } from 'node:path';
import { makeDirectory } from '../../shared/durable.js';
import { messageOf } from '../../shared/errors.js';
import type { FrozenBlock, GenerationFacts } from './build/order.js';
import { Cancelled } from './build/progress.js';
import type { Building } from './building.js';
import type { Generation } from './generation.js';
import type { IndexedCollection } from './indexedCollection.js';
import { KINDS } from './kinds.js';
import { INDEXED_ROWS_MIN } from './maintenance.js';
import { openGeneration, unindexedGeneration } from './openGeneration.js';
import type { IndexServices } from './services.js';
import { DamagedGeneration } from './store/damagedGeneration.js';
import type { SavedGeneration } from './store/generationFiles.js';

export interface Made {
  readonly generation: Generation;
  /** What was saved of it; undefined where it has no index. */
  readonly saved: SavedGeneration | undefined;
}

/** A saved generation cannot be used; it has been set aside. */
export class Unusable extends Error {}

export class GenerationMaker {
  constructor(
    private readonly collection: IndexedCollection,
    private readonly services: IndexServices,
  ) {}

  /**
   * Of the rows of `blocks`. `from`: what serves now, to be extended where it was built alike; undefined: from scratch.
   * Throws Cancelled.
   */
  async build(building: Building, blocks: readonly FrozenBlock[], from: Made | undefined): Promise<Made> {
    if (this.collection.vectors.liveCount < INDEXED_ROWS_MIN)
      return { generation: unindexedGeneration(this.collection, building.facts), saved: undefined };
    const base = this.#isExtendable(from, building) ? from : undefined;
    return this.#open(await this.#built(building, blocks, base), building);
  }

  /** Throws Unusable, Cancelled. */
  async load(building: Building, saved: SavedGeneration): Promise<Made> {
    const { store, builds } = this.services;
    try {
      this.#assertOurs(saved, building);
      await builds.verify(saved);
      return await this.#open(saved, building);
    } catch (error) {
      if (error instanceof Cancelled) throw error;
      const reason = messageOf(error);
      await store.setAside(saved, reason);
      throw new Unusable(`the saved index ${saved.facts.number} was set aside: ${reason}`, { cause: error });
    }
  }

  /** Saves what the generation covers now, under a new number. */
  async persist(generation: Generation): Promise<SavedGeneration> {
    const { store, builds } = this.services;
    const { config, sequence } = this.collection;
    const number = store.nextNumber(config.id);
    const folder = store.folderOf(config.id, number);
    await makeDirectory(folder);
    const rows = await generation.persist(join(folder, 'payload'));
    const { kind, parameters, trainedRows } = generation;
    const facts = { ...this.#identity(), number, kind, parameters, sequence, trainedRows };
    const saved = await builds.seal(facts, folder, rows);
    generation.saved(number, rows.recordIds.length);
    return saved;
  }

  async #built(building: Building, blocks: readonly FrozenBlock[], base: Made | undefined): Promise<SavedGeneration> {
    const { store, logger } = this.services;
    try {
      return await this.#inThread(building, blocks, base);
    } catch (error) {
      if (base?.saved === undefined || error instanceof Cancelled) throw error;
      // What it was to be built on may be the reason.
      logger.warn(
        { collectionId: this.collection.config.id, reason: messageOf(error) },
        'an index is built from nothing',
      );
      if (error instanceof DamagedGeneration) await store.setAside(base.saved, error.message);
      return this.#inThread(building, blocks, undefined);
    }
  }

  #inThread(building: Building, blocks: readonly FrozenBlock[], base: Made | undefined): Promise<SavedGeneration> {
    const { store, builds, logger } = this.services;
    const { vectors, config } = this.collection;
    const { kind, parameters, number, baseSequence, asked } = building.facts;
    const about = {
      collectionId: config.id,
      kind,
      generation: number,
      baseSequence,
      extends: base?.saved?.facts.number,
    };
    logger.info({ ...about, parameters, rows: vectors.liveCount }, 'an index is being built');
    const order = {
      facts: this.#facts(building, base?.generation.trainedRows ?? vectors.liveCount),
      strideBytes: vectors.shape.strideBytes,
      blocks,
      folder: store.folderOf(config.id, number),
      baseFolder: base?.saved?.folder,
    };
    return building.inThread(builds.build(order, { urgent: asked }));
  }

  async #open(saved: SavedGeneration, building: Building): Promise<Made> {
    building.assertWanted();
    const generation = await openGeneration(this.collection, this.services, saved, building.facts.parameters);
    return { generation, saved };
  }

  #isExtendable(from: Made | undefined, { facts }: Building): boolean {
    return (
      from?.saved !== undefined &&
      from.generation.kind === facts.kind &&
      KINDS[facts.kind].sameBuild(from.generation.parameters, facts.parameters)
    );
  }

  #identity(): Pick<GenerationFacts, 'collectionId' | 'createdAtMs' | 'dimension'> {
    const { id: collectionId, createdAtMs, dimension } = this.collection.config;
    return { collectionId, createdAtMs, dimension };
  }

  #facts({ facts }: Building, trainedRows: number): GenerationFacts {
    const { number, kind, parameters, baseSequence: sequence } = facts;
    return { ...this.#identity(), number, kind, parameters, sequence, trainedRows };
  }

  #assertOurs({ facts }: SavedGeneration, building: Building): void {
    const { collectionId, createdAtMs, dimension } = this.#identity();
    const isOurs =
      facts.collectionId === collectionId && facts.createdAtMs === createdAtMs && facts.dimension === dimension;
    if (!isOurs) throw new Error('it belongs to another collection');
    if (facts.sequence > this.collection.sequence)
      throw new Error(`it covers ${facts.sequence} events of a log of ${this.collection.sequence}`);
    const { kind, parameters } = building.facts;
    if (facts.kind !== kind || !KINDS[kind].sameBuild(facts.parameters, parameters))
      throw new Error('another index is desired now');
  }
}
