/** Builds, loads and saves the generations of one collection, with the build threads and the disk. */
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import { deleteTree, makeDirectory } from '../../shared/files/durable.js';
import { Slice, sliceTurns } from '../../shared/scheduling/slice.js';
import { SlotSet } from '../kernel/slotSet.js';
import type { Building } from './building.js';
import type { FrozenBlock } from './builds/frozenRows.js';
import { Generation, type GenerationParts } from './generation.js';
import { OPENERS } from './kinds.js';
import { INDEXED_ROWS_MIN } from './maintenance.js';
import { Cancelled } from './progress.js';
import { ReplacedSince } from './replaced.js';
import { NO_RECORD, NO_SLOT, Rows } from './rows.js';
import type { IndexedCollection, IndexServices } from './services.js';
import { payloadPath, readRows, type SavedGeneration } from './store/generationFiles.js';
import { DamagedGeneration, type GenerationFacts } from './store/manifest.js';

/** A generation, and its files. */
export interface Made {
  readonly generation: Generation;
  /** Undefined if the generation has no index. */
  readonly saved: SavedGeneration | undefined;
}

/** Thrown for a saved generation that cannot be used. It was set aside, unless the operating system cannot read it now. */
export class Unusable extends Error {}

export class GenerationMaker {
  constructor(
    private readonly collection: IndexedCollection,
    private readonly services: IndexServices,
  ) {}

  /**
   * Builds an index of the rows of `blocks`. Extends `from`, the active generation, if its build parameters are
   * equal. Builds from scratch if `from` is undefined. Throws Cancelled.
   */
  async build(building: Building, blocks: readonly FrozenBlock[], from: Made | undefined): Promise<Made> {
    const { kind, parameters } = building.facts;
    if (this.collection.vectors.liveCount < INDEXED_ROWS_MIN)
      return { generation: this.#generation(building, {}), saved: undefined };
    const isExtendable =
      from?.saved !== undefined &&
      from.generation.parts.kind === kind &&
      OPENERS[kind].sameBuild(from.generation.parts.parameters, parameters);
    const built = await this.#buildFiles(building, blocks, isExtendable ? from : undefined);
    if (built.cipher === undefined) return this.#open(built, building);
    try {
      return { ...(await this.#open(built, building)), saved: undefined };
    } finally {
      await deleteTree(built.folder);
    }
  }

  /** Loads a saved generation. Throws Unusable and Cancelled. */
  async load(building: Building, saved: SavedGeneration): Promise<Made> {
    const { store, builds } = this.services;
    try {
      this.#assertWanted(saved.facts, building);
      await builds.verify(saved, this.collection.config.project);
      return await this.#open(saved, building);
    } catch (error) {
      if (error instanceof Cancelled) throw error;
      const reason = messageOf(error);
      if (error instanceof VouchError && error.code === 'unavailable')
        throw new Unusable(`the saved index ${saved.facts.number} cannot be used now: ${reason}`, { cause: error });
      await store.setAside(saved, reason);
      throw new Unusable(`the saved index ${saved.facts.number} was set aside: ${reason}`, { cause: error });
    }
  }

  /** Saves the covered rows of the generation under a new number. Returns undefined if its files would be encrypted. */
  async persist(generation: Generation): Promise<SavedGeneration | undefined> {
    if (this.collection.fileKey !== undefined) {
      // It is built again after a restart.
      generation.noteSaved(generation.number, generation.parts.rows.count);
      return undefined;
    }
    const { store, builds } = this.services;
    const { config, sequence } = this.collection;
    const number = store.nextNumber(config.id);
    const folder = store.folderOf(config.id, number);
    await makeDirectory(folder);
    const rows = await generation.persist(payloadPath(folder));
    const { kind, parameters, trainedRows } = generation.parts;
    const facts = { ...this.#identity, number, kind, parameters, sequence, trainedRows };
    const saved = await builds.complete(facts, config.project, folder, rows);
    generation.noteSaved(number, rows.recordIds.length);
    return saved;
  }

  /** Builds the files of a generation. Without success on a base, builds them from scratch. */
  async #buildFiles(
    building: Building,
    blocks: readonly FrozenBlock[],
    base: Made | undefined,
  ): Promise<SavedGeneration> {
    const { store, logger } = this.services;
    try {
      return await this.#inThread(building, blocks, base);
    } catch (error) {
      if (base?.saved === undefined || error instanceof Cancelled) throw error;
      // The base may be the cause.
      const fields = { collectionId: this.collection.config.id, reason: messageOf(error) };
      logger.warn(fields, 'an index could not be extended and is built from scratch');
      if (error instanceof DamagedGeneration) await store.setAside(base.saved, error.message);
      return this.#inThread(building, blocks, undefined);
    }
  }

  async #inThread(
    building: Building,
    blocks: readonly FrozenBlock[],
    base: Made | undefined,
  ): Promise<SavedGeneration> {
    const { store, builds, logger } = this.services;
    const { vectors, config } = this.collection;
    const { kind, parameters, number, baseSequence, requested } = building.facts;
    const { liveCount } = vectors;
    logger.info(
      {
        ...{ collectionId: config.id, kind, generation: number, baseSequence, extends: base?.saved?.facts.number },
        ...{ parameters, rows: liveCount },
      },
      'the build of an index begins',
    );
    const trainedRows = base?.generation.parts.trainedRows ?? liveCount;
    const order = {
      facts: { ...this.#identity, number, kind, parameters, sequence: baseSequence, trainedRows },
      strideBytes: vectors.shape.strideBytes,
      blocks,
      folder: store.folderOf(config.id, number),
      baseFolder: base?.saved?.folder,
      replaced: base?.saved === undefined ? new Float64Array(0) : await this.#replacedSince(base.saved.facts.sequence),
      ...(this.collection.fileKey && { cipher: { key: this.collection.fileKey, number } }),
    };
    return building.inThread(builds.build(order, { project: config.project, urgent: requested }));
  }

  /**
   * Opens the files of a generation, after a build or a restart. The caller has begun a scan of the vectors, so that no slot
   * is reused, and later removes the rows that die during this call.
   */
  async #open(saved: SavedGeneration, building: Building): Promise<Made> {
    building.assertWanted();
    const { vectors, config } = this.collection;
    const { kind, parameters } = building.facts;
    const rows = new Rows(new SlotSet(vectors.shape));
    const refused = new SlotSet(vectors.shape);
    const { recordIds, leftOut } = await readRows(saved);
    const slice = new Slice(this.services.clock);
    const replaced = new ReplacedSince(this.collection.records.versions, saved.facts.sequence);
    await replaced.read(slice);
    for (let ordinal = 0; ordinal < recordIds.length; ordinal++) {
      const id = recordIds[ordinal]!;
      // The new row of a replaced record stays in the tail.
      const slot = replaced.has(id) ? undefined : this.collection.records.liveSlotOf(id);
      const covers = slot !== undefined && !leftOut.has(ordinal);
      rows.add(slot === undefined ? NO_RECORD : id, covers ? slot : NO_SLOT);
      if (covers) refused.delete(slot);
      else if (slot !== undefined) refused.add(slot);
      if (slice.due) await slice.next();
    }
    const place = { path: payloadPath(saved.folder), cipher: saved.cipher };
    const index = await OPENERS[kind].open({
      ...place,
      vectors,
      rows,
      parameters,
      pause: sliceTurns({ op: 'index', subject: config }),
    });
    const { number, trainedRows } = saved.facts;
    const parts = { number, rows, refused, index, trainedRows, savedRows: recordIds.length };
    return { generation: this.#generation(building, parts), saved };
  }

  /** Makes a generation; without `parts`, one with too few rows for an index. */
  #generation({ facts: { number, kind, parameters } }: Building, parts: Partial<GenerationParts>): Generation {
    const { vectors } = this.collection;
    return new Generation({
      ...{ number, kind, parameters, vectors, index: undefined, trainedRows: 0, savedRows: 0 },
      ...{ rows: new Rows(new SlotSet(vectors.shape)), refused: new SlotSet(vectors.shape) },
      ...parts,
    });
  }

  async #replacedSince(sequence: number): Promise<Float64Array> {
    const replaced = new ReplacedSince(this.collection.records.versions, sequence);
    await replaced.read(new Slice(this.services.clock));
    return replaced.records();
  }

  get #identity(): Pick<GenerationFacts, 'collectionId' | 'createdAtMs' | 'dimension'> {
    const { id: collectionId, createdAtMs, dimension } = this.collection.config;
    return { collectionId, createdAtMs, dimension };
  }

  /** Throws an Error if the saved generation is not one of this collection, its log and the desired index. */
  #assertWanted(facts: GenerationFacts, building: Building): void {
    const { collectionId, createdAtMs, dimension } = this.#identity;
    const isOfCollection =
      facts.collectionId === collectionId && facts.createdAtMs === createdAtMs && facts.dimension === dimension;
    if (!isOfCollection) throw new Error('it belongs to another collection');
    if (facts.sequence > this.collection.sequence)
      throw new Error(`it covers ${facts.sequence} events, and the log has ${this.collection.sequence}`);
    const { kind, parameters } = building.facts;
    if (facts.kind !== kind || !OPENERS[kind].sameBuild(facts.parameters, parameters))
      throw new Error('another index is desired now');
  }
}
