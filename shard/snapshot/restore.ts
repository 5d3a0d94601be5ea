/**
 * A snapshot's file to the state and the history that it was written of. What costs time by the byte is a reader's, in
 * other threads where there are some; this builds maps and indexes, in slices.
 *
 *   facts fit the log ─▶ chunks of records, by several readers ─▶ both large trees, side by side ─▶ all else ─▶ state hash
 */
import type { CollectionConfig } from '../../shared/calls.js';
import { type Clock, systemClock } from '../../shared/clock.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { TreeHashes } from '../audit/merkleTree.js';
import { CollectionState } from '../collection/collectionState.js';
import { LogHistory } from '../collection/history.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { Slice } from '../pause.js';
import { DamagedSnapshot } from './damagedSnapshot.js';
import type { ChunkEntry, RowKind } from './format.js';
import type { Reader, ReadRecords } from './readJob.js';
import { columnsAt, taken } from './recordChunk.js';
import {
  edgesIn,
  encryptedIn,
  framesIn,
  graphRootsIn,
  leafChangesIn,
  nodesIn,
  numbersIn,
  requestsIn,
  shreddedIn,
} from './rows.js';
import { chunksOf, type OpenedSnapshot, rowsIn, verifiedChunk } from './snapshotFile.js';

export interface Restoring {
  readonly config: CollectionConfig;
  readonly memory: VectorMemory;
  /** Request ids that the state is to remember. */
  readonly dedupWindow: number;
  readonly read: Reader;
  /** Jobs that the reader does at once. */
  readonly readers: number;
  readonly clock?: Clock;
  /** Awaited after each slice of some milliseconds; may throw. */
  readonly rest?: () => Promise<void>;
  readonly onProgress?: (recordIds: number, of: number) => void;
}

export interface Restored {
  readonly state: CollectionState;
  readonly history: LogHistory;
  readonly describedBytes: number;
}

/** Jobs that wait at each reader, so that it never waits itself. */
const AHEAD = 2;
/** Rows, and records without descriptions, taken in between two looks at the clock. */
const ROWS_PER_LOOK = 32;

/**
 * Verified: every chunk by its seal, the whole by its state hash. Throws DamagedSnapshot, `capacity_exceeded`, and what
 * `rest` throws; then the memory is given back.
 */
export async function restoreSnapshot(snapshot: OpenedSnapshot, restoring: Restoring): Promise<Restored> {
  const { config, memory, dedupWindow } = restoring;
  const vectors = new VectorBlocks(memory, config.dimension);
  const state = new CollectionState(config, vectors, dedupWindow);
  const restore = new Restore(snapshot, restoring, state);
  try {
    await restore.all();
    return { state, history: restore.history, describedBytes: snapshot.facts.describedBytes };
  } catch (error) {
    // Other threads may still write to the memory until they have done.
    await restore.settled();
    vectors.destroy();
    throw error;
  }
}

class Restore {
  readonly history = new LogHistory();
  readonly #slice: Slice;
  readonly #under = new Set<Promise<unknown>>();
  readonly #leaves: SharedArrayBuffer;

  constructor(
    private readonly snapshot: OpenedSnapshot,
    private readonly restoring: Restoring,
    private readonly state: CollectionState,
  ) {
    this.#slice = new Slice(restoring.clock ?? systemClock);
    this.#leaves = new SharedArrayBuffer(snapshot.facts.recordIds * HASH_BYTES);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#under);
  }

  async all(): Promise<void> {
    const { facts } = this.snapshot;
    this.#assertWhole();
    await this.#records();
    await this.#encrypted();
    const trees = this.#noted(this.#trees());
    await this.#rows('leafChanges', leafChangesIn, ({ sequence, index, leaves, oldLeaf }) =>
      this.state.tree.changes.add(sequence, index, leaves, oldLeaf),
    );
    await this.#rows('requests', requestsIn, ([key, applied]) => this.state.requests.add(key, applied));
    await this.#rows('frames', framesIn, (frame) => this.history.restoreFrame(frame));
    await this.#graph();
    await this.#lifetimes();
    await trees;
    const { configHash, chainHead, sequence, timeMs, logBytes, position } = facts;
    this.history.restoreEnd(
      configHash,
      { chainHead, nextSequence: sequence + 1, logBytes, lastTimeMs: timeMs },
      position,
    );
    this.#assertHash();
  }

  #assertWhole(): void {
    const { facts } = this.snapshot;
    const rows = (kind: ChunkEntry['kind']): number => rowsIn(chunksOf(this.snapshot, kind));
    if (rows('records') !== facts.recordIds || rows('chainHeads') !== facts.sequence + 1)
      throw new DamagedSnapshot('its table does not fit its facts');
  }

  #assertHash(): void {
    const { stateHash, chainHead, configHash, sequence, timeMs, liveRecords } = this.snapshot.facts;
    const found = this.state.hash({ configHash, chainHead, sequence, timeMs });
    if (Buffer.compare(found, stateHash) !== 0) throw new DamagedSnapshot('its state hash does not verify');
    if (Buffer.compare(this.history.tree.chainHead(sequence), chainHead) !== 0)
      throw new DamagedSnapshot('its log tree does not end with its chain head');
    if (this.state.liveRecords !== liveRecords)
      throw new DamagedSnapshot(`it says ${liveRecords} live records where there are ${this.state.liveRecords}`);
  }

  /** Chunks are read ahead, by several at once, and taken in in order. */
  async #records(): Promise<void> {
    const { readers, config, read, onProgress } = this.restoring;
    const { vectors } = this.state;
    const chunks = chunksOf(this.snapshot, 'records');
    const reading: Promise<ReadRecords>[] = [];
    let next = 0;
    const readOn = (): void => {
      const chunk = chunks[next++];
      if (chunk === undefined) return;
      const places = vectors.places(vectors.acquireRows(chunk.stored), chunk.stored);
      const job = { op: 'records', path: this.snapshot.path, chunk, places } as const;
      reading.push(this.#noted(read({ ...job, dimension: config.dimension, leaves: this.#leaves })));
    };
    for (let i = 0; i < AHEAD * readers; i++) readOn();
    let slot = 0;
    for (const chunk of chunks) {
      const records = await reading.shift()!;
      readOn();
      vectors.wrote(slot, chunk.stored);
      await this.#take(chunk, records, slot);
      slot += chunk.stored;
      onProgress?.(chunk.first + chunk.rows - 1, this.snapshot.facts.recordIds);
    }
  }

  async #take(chunk: ChunkEntry, { head, descriptions: described }: ReadRecords, firstSlot: number): Promise<void> {
    const { ids, tags, insertedMs, metadataLengths, textLengths, states } = columnsAt(head, 0, chunk.stored);
    const descriptions = new Uint8Array(described);
    let row = 0;
    let at = 0;
    for (let id = chunk.first; id < chunk.first + chunk.rows; id++) {
      if (id % ROWS_PER_LOOK === 0) await this.#breathe();
      if (ids[row] !== id) {
        this.state.restore(undefined);
        continue;
      }
      const metadata = taken(descriptions, at, metadataLengths[row]!);
      at += metadata?.length ?? 0;
      const text = taken(descriptions, at, textLengths[row]!);
      at += text?.length ?? 0;
      const isTombstoned = states[row] === RECORD_STATE.tombstoned;
      this.state.restore({
        slot: firstSlot + row,
        isTombstoned,
        tag: tags[row]!,
        insertedMs: insertedMs[row]!,
        metadata,
        text,
      });
      if (metadata !== null || text !== null) await this.#breathe();
      row++;
    }
  }

  async #encrypted(): Promise<void> {
    const { encrypted } = this.state;
    const leaves = new Uint8Array(this.#leaves);
    await this.#rows('encrypted', encryptedIn, (record) => {
      if (!(record.id >= 1 && record.id < this.state.nextRecordId))
        throw new DamagedSnapshot(`encrypted record ${record.id} does not verify`);
      encrypted.restore(record);
      leaves.set(encrypted.leafOf(record.id), (record.id - 1) * HASH_BYTES);
    });
    await this.#rows('shredded', shreddedIn, (keyId) => encrypted.shred(keyId));
  }

  /** Both at once; no record has changed since the leaves were made. */
  async #trees(): Promise<void> {
    const [records, events] = await this.#noted(
      Promise.all([this.restoring.read({ op: 'stateTree', leaves: this.#leaves }), this.#tree('chainHeads')]),
    );
    this.state.tree.adopt(records);
    this.history.tree.adopt(events);
  }

  #tree(op: 'chainHeads' | 'nodes' | 'edges'): Promise<TreeHashes> {
    return this.#noted(this.restoring.read({ op, path: this.snapshot.path, chunks: chunksOf(this.snapshot, op) }));
  }

  async #graph(): Promise<void> {
    const { graph } = this.state;
    const trees = this.#noted(Promise.all([this.#tree('nodes'), this.#tree('edges')]));
    await this.#rows('nodes', nodesIn, (node) =>
      graph.restoreNode(node === null ? null : { ...node, id: graph.nextNodeId }),
    );
    await this.#rows('edges', edgesIn, (edge) =>
      graph.restoreEdge(edge === null ? null : { ...edge, id: graph.nextEdgeId }),
    );
    await this.#rows('graphRoots', graphRootsIn, ({ sequence, root }) => graph.history.add(sequence, root));
    graph.restoreTrees(...(await trees), this.snapshot.facts.graphChangedBy);
  }

  async #lifetimes(): Promise<void> {
    const lists = new NumberLists();
    await this.#rows('lifetimes', numbersIn, (number) => lists.take(number));
    this.state.lifetimes.restore(lists.lists);
  }

  async #rows<T>(kind: RowKind, rowsOf: (bytes: Uint8Array) => Iterable<T>, take: (row: T) => unknown): Promise<void> {
    for (const chunk of chunksOf(this.snapshot, kind)) {
      await this.#breathe();
      let taken = 0;
      for (const row of rowsOf(verifiedChunk(this.snapshot.path, chunk))) {
        take(row);
        if (++taken % ROWS_PER_LOOK === 0) await this.#breathe();
      }
    }
  }

  async #breathe(): Promise<void> {
    if (!this.#slice.due) return;
    await this.restoring.rest?.();
    await this.#slice.next();
  }

  /** Its failure is seen where it is awaited, which may be later. */
  #noted<T>(work: Promise<T>): Promise<T> {
    this.#under.add(work);
    void work.then(
      () => this.#under.delete(work),
      () => this.#under.delete(work),
    );
    return work;
  }
}

/** Takes apart what the writer's `listed` has put together. */
class NumberLists {
  readonly lists: Float64Array[] = [];
  #wanted: number | undefined;
  #list = 0;
  #at = 0;

  take(number: number): void {
    if (this.#wanted === undefined) this.#wanted = number;
    else if (this.lists.length < this.#wanted) this.lists.push(new Float64Array(number));
    else {
      while (this.#at === this.lists[this.#list]!.length) {
        this.#list++;
        this.#at = 0;
      }
      this.lists[this.#list]![this.#at++] = number;
    }
  }
}
