/**
 * Restores the state and the history that a snapshot was written from. A reader, if possible in other threads, does the
 * work whose cost grows with the bytes. This file builds maps and indexes, in slices.
 *
 *   Facts fit the log ─▶ chunks of records, by several readers ─▶ both large trees ─▶ all else ─▶ state hash
 */
import { systemClock } from '../../shared/clock.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { EXPIRY_BYTES } from '../../shared/log/eventLayout.js';
import { decodeContent } from '../../shared/log/recordContent.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { READ_AUDITS, type ReadAudit } from '../../shared/model/readAudit.js';
import { inSlices, Slice } from '../../shared/scheduling/slice.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { TreeHashes } from '../audit/merkleTree.js';
import { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { CollectionState } from '../state/collectionState.js';
import type { EncryptedRecord } from '../state/encryptedRecords.js';
import { LogHistory } from '../state/logHistory.js';
import { textOf } from '../text/textIndex.js';
import type { SnapshotKeys } from '../vault/snapshotKeys.js';
import { type ContentGroup, decodeGroups, splitContents } from './contentChunk.js';
import { type ChunkEntry, type ChunkKind, DamagedSnapshot } from './format.js';
import type { JobReader, ReadRecords } from './readJob.js';
import { columnsAt, EXPIRES, taken, takenExpiry } from './recordChunk.js';
import * as rows from './rows.js';
import type { SnapshotState } from './savedSnapshots.js';
import { chunksOf, countRows, type OpenedSnapshot, verifiedChunk } from './snapshotFile.js';

/** The contents of records under keys. */
export interface SnapshotContents {
  /** Returns the keys of the contents in the snapshot with this salt. */
  ofSnapshot(salt: Uint8Array): SnapshotKeys;
}

interface RestoreOptions {
  readonly config: CollectionConfig;
  readonly memory: VectorMemory;
  readonly dedupWindow: number;
  /** Opens the contents of records under keys; absent: they count as lost. */
  readonly contents?: SnapshotContents | undefined;
  readonly read: JobReader;
  /** Jobs that the reader executes at once. */
  readonly readers: number;
  /** Awaited after each slice of some milliseconds; may throw. */
  readonly rest?: () => Promise<void>;
  readonly onProgress?: (recordIds: number, of: number) => void;
  /** Called before each piece of work on rows of this kind. */
  readonly onStep?: (kind: ChunkKind | 'hash', row: number) => void;
}

/** Jobs given to each reader at once, so that it never waits for the next. */
const AHEAD = 2;
/** Rows between two looks at the clock. */
const ROWS_PER_LOOK = 32;
/** Steps of a `Slice` for a record, for its description, and for each byte of that: a step takes about 50 ns. */
const RECORD_STEPS = 8;
const DESCRIPTION_STEPS = 32;
const BYTE_STEPS = 1 / 2;

/**
 * Verifies every chunk by its checksum, and the whole by its state hash. Throws DamagedSnapshot, `capacity_exceeded`, and
 * errors of `rest`; then the memory is freed.
 */
export async function restoreSnapshot(snapshot: OpenedSnapshot, options: RestoreOptions): Promise<SnapshotState> {
  const { config, memory, dedupWindow } = options;
  const vectors = new VectorBlocks(memory, config.dimension);
  const state = new CollectionState(config, vectors, dedupWindow);
  const restore = new Restore(snapshot, options, state);
  try {
    await restore.all();
    return { state, history: restore.history, describedBytes: snapshot.facts.describedBytes };
  } catch (error) {
    // Other threads may write to the memory until they are done.
    await restore.ended();
    vectors.destroy();
    throw error;
  }
}

/** Returns the result of the work, which opens the content of a record. Throws DamagedSnapshot if the work throws. */
function orDamaged<T>(id: number, work: () => T): T {
  try {
    return work();
  } catch {
    throw new DamagedSnapshot(`the content of record ${id} does not verify`);
  }
}

function readAuditAt(place: number): ReadAudit {
  const audit = READ_AUDITS[place];
  if (audit === undefined) throw new DamagedSnapshot(`it states an audit of reads of ${place}`);
  return audit;
}

class Restore {
  readonly history = new LogHistory();
  readonly #slice = new Slice(systemClock);
  readonly #pending = new Set<Promise<unknown>>();
  readonly #leaves: SharedArrayBuffer;
  /** Number of records whose content is yet to be restored. */
  #missing = 0;

  constructor(
    private readonly snapshot: OpenedSnapshot,
    private readonly options: RestoreOptions,
    private readonly state: CollectionState,
  ) {
    this.#leaves = new SharedArrayBuffer(snapshot.facts.recordIds * HASH_BYTES);
  }

  async ended(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  async all(): Promise<void> {
    const { facts } = this.snapshot;
    this.#assertWhole();
    await this.#records();
    await this.#encrypted();
    await this.#contents();
    const trees = this.#track(this.#trees());
    await this.#rows(rows.LEAF_CHANGES, (change) => this.state.tree.restoreChange(change));
    await this.#rows(rows.REQUESTS, ([key, applied]) => this.state.requests.add(key, applied));
    await this.#rows(rows.FRAMES, (frame) => this.history.restoreFrame(frame));
    await this.#graph();
    await this.#rows(rows.READ_AUDIT, ({ audit, retentionDays }) => {
      this.state.readAudit = readAuditAt(audit);
      this.state.accessRetentionDays = retentionDays;
    });
    await this.#lifetimes();
    await trees;
    this.options.onStep?.('hash', 0);
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
    const rowsOf = (kind: ChunkKind): number => countRows(chunksOf(this.snapshot, kind));
    if (rowsOf('records') !== facts.recordIds || rowsOf('chainHeads') !== facts.sequence + 1)
      throw new DamagedSnapshot('its table does not fit its facts');
  }

  #assertHash(): void {
    const { stateHash, chainHead, configHash, sequence, timeMs, liveRecords } = this.snapshot.facts;
    const found = this.state.hash({ configHash, chainHead, sequence, timeMs });
    if (Buffer.compare(found, stateHash) !== 0) throw new DamagedSnapshot('its state hash does not verify');
    if (Buffer.compare(this.history.tree.chainHead(sequence), chainHead) !== 0)
      throw new DamagedSnapshot('its log tree does not end with its chain head');
    if (this.state.liveRecords !== liveRecords)
      throw new DamagedSnapshot(`it states ${liveRecords} live records where there are ${this.state.liveRecords}`);
  }

  /** Reads several chunks ahead, and restores their records in order. */
  async #records(): Promise<void> {
    const { readers, config, read, onProgress } = this.options;
    const { vectors } = this.state;
    const chunks = chunksOf(this.snapshot, 'records');
    const reading: Promise<ReadRecords>[] = [];
    let next = 0;
    const readOn = (): void => {
      const chunk = chunks[next++];
      if (chunk === undefined) return;
      const places = vectors.places(vectors.acquireRows(chunk.stored), chunk.stored);
      const job = { op: 'records', path: this.snapshot.path, chunk, places } as const;
      reading.push(this.#track(read({ ...job, dimension: config.dimension, leaves: this.#leaves })));
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
    const columns = columnsAt(head, 0, chunk.stored);
    const { analyser } = this.state.texts;
    const { ids, tags, insertedMs, metadataLengths, textLengths, externalIdLengths, states } = columns;
    const descriptions = new Uint8Array(described);
    let row = 0;
    let at = 0;
    for (let id = chunk.first; id < chunk.first + chunk.rows; id++) {
      if (this.#slice.step(RECORD_STEPS)) await this.#rest();
      this.options.onStep?.('records', id);
      if (ids[row] !== id) {
        this.state.restore(undefined);
        continue;
      }
      const from = at;
      const metadata = taken(descriptions, at, metadataLengths[row]!);
      at += metadata?.length ?? 0;
      const text = taken(descriptions, at, textLengths[row]!);
      at += text?.length ?? 0;
      const externalId = taken(descriptions, at, externalIdLengths[row]!);
      at += externalId?.length ?? 0;
      const expiresAtMs = takenExpiry(descriptions, at, states[row]!);
      if (expiresAtMs !== undefined) at += EXPIRY_BYTES;
      const isTombstoned = (states[row]! & ~EXPIRES) === RECORD_STATE.tombstoned;
      const terms = analyser.isStemming && text !== null ? await this.#termsOf(text) : undefined;
      const [slot, tag, atMs] = [firstSlot + row, tags[row]!, insertedMs[row]!];
      // The fields are listed, since a spread of them costs more than the rest.
      const image = { slot, isTombstoned, insertedMs: atMs, expiresAtMs, tag, metadata, text, externalId };
      this.state.restore(image, terms);
      row++;
      // An await costs as much as a small record.
      if (at > from && this.#slice.step(DESCRIPTION_STEPS + BYTE_STEPS * (at - from))) await this.#rest();
    }
  }

  #termsOf(text: Uint8Array): Promise<string[]> {
    return inSlices(this.state.texts.analyser.inSteps(textOf(text)), this.#slice);
  }

  async #encrypted(): Promise<void> {
    const { encrypted } = this.state;
    const leaves = new Uint8Array(this.#leaves);
    await this.#rows(rows.EXPIRIES, ([id, expiresAtMs]) => this.state.expiries.set(id, expiresAtMs));
    await this.#rows(rows.ENCRYPTED, (record) => {
      if (!(record.id >= 1 && record.id < this.state.nextRecordId))
        throw new DamagedSnapshot(`encrypted record ${record.id} does not verify`);
      encrypted.restore(record);
      if (record.content === 'slot') this.#missing++;
      leaves.set(this.state.encryptedLeaf(record.id), (record.id - 1) * HASH_BYTES);
    });
    await this.#rows(rows.SHREDDED, (keyId) => encrypted.shred(keyId));
    encrypted.erasures.unknownUntil = this.snapshot.facts.sequence;
    await this.#rows(rows.ERASURE_FACTS, (fact) => encrypted.erasures.restore(fact));
  }

  async #contents(): Promise<void> {
    const { encrypted, vectors } = this.state;
    const chunks = chunksOf(this.snapshot, 'contents');
    if (chunks.length === 0 && this.#missing === 0) return;
    encrypted.hasContents = true;
    vectors.memory.mustErase = true;
    let keys: SnapshotKeys | undefined;
    try {
      for (const chunk of chunks) {
        const { salt, groups } = decodeGroups(verifiedChunk(this.snapshot.path, chunk));
        if (keys === undefined) {
          keys = this.options.contents?.ofSnapshot(salt);
          await keys?.fetch([...encrypted.contentKeys()]);
        }
        for (const group of groups) await this.#takeGroup(group, keys);
      }
      if (this.#missing > 0) throw new DamagedSnapshot(`it lacks the contents of ${this.#missing} records`);
    } finally {
      keys?.close();
    }
  }

  async #takeGroup({ ids, ciphertext }: ContentGroup, keys: SnapshotKeys | undefined): Promise<void> {
    const { encrypted, texts } = this.state;
    const records = ids.map((id) => this.#withContent(id));
    const opened = orDamaged(ids[0]!, () => keys?.decrypt(records, ciphertext));
    try {
      const contents = opened && splitContents(opened, ids.length);
      for (const [i, record] of records.entries()) {
        this.options.onStep?.('contents', record.id);
        if (contents === undefined) encrypted.lose(record.id);
        else {
          const content = orDamaged(record.id, () => decodeContent(contents[i]!));
          const terms =
            texts.analyser.isStemming && content.text !== null ? await this.#termsOf(content.text) : undefined;
          this.state.restoreContent(record, content, terms);
        }
        this.#missing--;
        await this.#rest();
      }
    } finally {
      opened?.fill(0);
    }
  }

  #withContent(id: number): EncryptedRecord {
    const record = this.state.encrypted.get(id);
    if (record?.content !== 'slot' || this.state.keptSlotOf(id) !== undefined)
      throw new DamagedSnapshot(`record ${id} has a content that it must not have`);
    return record;
  }

  /** Hashes both large trees at once. No record has changed since the leaves were computed. */
  async #trees(): Promise<void> {
    const [records, events] = await this.#track(
      Promise.all([this.options.read({ op: 'stateTree', leaves: this.#leaves }), this.#tree('chainHeads')]),
    );
    this.state.tree.adopt(records);
    this.history.tree.adopt(events);
  }

  #tree(op: 'chainHeads' | 'nodes' | 'edges'): Promise<TreeHashes> {
    return this.#track(this.options.read({ op, path: this.snapshot.path, chunks: chunksOf(this.snapshot, op) }));
  }

  async #graph(): Promise<void> {
    const { graph } = this.state;
    const trees = this.#track(Promise.all([this.#tree('nodes'), this.#tree('edges')]));
    await this.#rows(rows.NODES, (node) => graph.restoreNode(node && { ...node, id: graph.nextNodeId }));
    await this.#rows(rows.EDGES, (edge) => graph.restoreEdge(edge && { ...edge, id: graph.nextEdgeId }));
    await this.#rows(rows.GRAPH_ROOTS, ({ sequence, root }) => graph.history.add(sequence, root));
    const { graphChangedAt, graphChangedByRecord } = this.snapshot.facts;
    graph.restoreTrees(...(await trees), { sequence: graphChangedAt, isOfRecord: graphChangedByRecord === 1 });
  }

  async #lifetimes(): Promise<void> {
    const lists = new NumberLists();
    await this.#rows(rows.LIFETIMES, (number) => lists.take(number));
    this.state.versions.restore(lists.lists);
  }

  async #rows<T>(codec: rows.RowCodec<T>, take: (row: T) => unknown): Promise<void> {
    for (const chunk of chunksOf(this.snapshot, codec.kind)) {
      await this.#rest();
      let taken = 0;
      this.options.onStep?.(codec.kind, chunk.first);
      for (const row of rows.rowsIn(codec, verifiedChunk(this.snapshot.path, chunk))) {
        take(row);
        if (++taken % ROWS_PER_LOOK !== 0) continue;
        await this.#rest();
        this.options.onStep?.(codec.kind, chunk.first + taken);
      }
    }
  }

  async #rest(): Promise<void> {
    if (!this.#slice.due) return;
    await this.options.rest?.();
    await this.#slice.next();
  }

  /** Tracks work in flight. Its failure is handled where it is awaited, which may be later. */
  #track<T>(work: Promise<T>): Promise<T> {
    this.#pending.add(work);
    void work.then(
      () => this.#pending.delete(work),
      () => this.#pending.delete(work),
    );
    return work;
  }
}

/** Splits the lists of numbers that `listed` of `writeSnapshot.ts` joins. */
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
