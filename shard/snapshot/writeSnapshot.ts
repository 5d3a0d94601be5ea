/** Writes a state and its history to a snapshot's file, a chunk at a time. */
import { systemEntropy } from '../../shared/clock.js';
import { StreamedFile } from '../../shared/files/durable.js';
import { writeU64 } from '../../shared/hashing/u64.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { EXPIRY_BYTES, expiryBytes } from '../../shared/log/eventLayout.js';
import { encodeContent } from '../../shared/log/recordContent.js';
import { READ_AUDITS } from '../../shared/model/readAudit.js';
import { moved } from '../../shared/transport/transportErrors.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { CollectionState } from '../state/collectionState.js';
import type { EncryptedRecord } from '../state/encryptedRecords.js';
import type { RecordImage } from '../state/keptFields.js';
import type { LogHistory } from '../state/logHistory.js';
import type { SavedNumbers } from '../state/versionVisibility.js';
import type { ContentKeys } from '../vault/contentKeys.js';
import { SNAPSHOT_SALT_BYTES, type SnapshotKeys } from '../vault/snapshotKeys.js';
import { type ContentGroup, encodeGroups, groupBytes, joinContents } from './contentChunk.js';
import {
  CHUNK_BYTES,
  type ChunkEntry,
  type ChunkHead,
  encodeFooter,
  encodeHeader,
  type SnapshotFacts,
} from './format.js';
import { checksumOfRecords, EXPIRES, emptyRows, NONE, recordBytes } from './recordChunk.js';
import * as rows from './rows.js';
import type { SnapshotState } from './savedSnapshots.js';
import { checksumOf } from './snapshotFile.js';

interface MadeAs {
  readonly collectionId: number;
  /** Unix milliseconds. */
  readonly madeAtMs: number;
  /** The keys of the contents, if the collection can have any. */
  readonly contents?: ContentKeys | undefined;
}

/**
 * Returns the size in bytes; the file is durable then. On an error no file is left. The state must be at a frame end
 * and must not change until then. Works some milliseconds at a time and awaits `rest` in between, which may throw.
 */
export async function writeSnapshot(
  path: string,
  written: SnapshotState & MadeAs,
  rest: () => Promise<void>,
  chunkBytes = CHUNK_BYTES,
): Promise<number> {
  const file = await StreamedFile.begin(path);
  const keys = written.contents?.ofSnapshot(systemEntropy(SNAPSHOT_SALT_BYTES));
  try {
    const writer = new Writer(file, rest, chunkBytes);
    await file.write(encodeHeader());
    await writer.history(written.history);
    await writer.records(written.state);
    await writer.contents(written.state, keys);
    await writer.state(written.state);
    await file.write(encodeFooter(factsOf(written), writer.chunks, file.sizeBytes));
    await file.finish();
    return file.sizeBytes;
  } catch (error) {
    await file.abandon();
    throw error;
  } finally {
    keys?.close();
  }
}

function factsOf({ collectionId, state, history, describedBytes, madeAtMs }: SnapshotState & MadeAs): SnapshotFacts {
  const { configHash, end, position, sequence } = history;
  const { chainHead, lastTimeMs: timeMs, logBytes } = end;
  return {
    collectionId,
    sequence,
    timeMs,
    logBytes,
    position,
    recordIds: state.nextRecordId - 1,
    liveRecords: state.liveRecords,
    dedupWindow: state.requests.capacity,
    graphChangedAt: state.graph.changedBy.sequence,
    graphChangedByRecord: state.graph.changedBy.isOfRecord ? 1 : 0,
    describedBytes: Math.ceil(describedBytes),
    madeAtMs,
    configHash,
    chainHead,
    stateHash: state.hash({ configHash, chainHead, sequence, timeMs }),
  };
}

class Writer {
  readonly chunks: ChunkEntry[] = [];

  constructor(
    private readonly file: StreamedFile,
    private readonly rest: () => Promise<void>,
    private readonly chunkBytes: number,
  ) {}

  async history(history: LogHistory): Promise<void> {
    await this.#rows(
      rows.FRAMES,
      0,
      each(0, history.frames, (index) => history.frame(index)),
    );
    await this.#rows(
      rows.CHAIN_HEADS,
      0,
      each(0, history.tree.size, (sequence) => history.tree.chainHead(sequence)),
    );
  }

  async records(state: CollectionState): Promise<void> {
    let first = 1;
    let sizeBytes = 0;
    let images: (RecordImage | undefined)[] = [];
    for (let id = 1; id < state.nextRecordId; id++) {
      const image = state.image(id);
      const takes = image === undefined ? HASH_BYTES : recordBytes(state.dimension, describedBytesOf(image));
      if (images.length > 0 && sizeBytes + takes > this.chunkBytes) {
        await this.#recordChunk(state, first, images);
        [first, sizeBytes, images] = [id, 0, []];
      }
      images.push(image);
      sizeBytes += takes;
    }
    if (images.length > 0) await this.#recordChunk(state, first, images);
  }

  async contents(state: CollectionState, keys: SnapshotKeys | undefined): Promise<void> {
    const { encrypted } = state;
    if (!encrypted.hasContents) return;
    if (keys === undefined) throw new RangeError('a snapshot with contents needs their keys');
    // The keys may be in a backup of the vault: the log still has these contents, and the next opening finds them.
    if (encrypted.lostCount > 0) throw new Error(`the vault lacks the keys of ${encrypted.lostCount} records`);
    let groups: ContentGroup[] = [];
    let sizeBytes = 0;
    for (const group of this.#groups(state, keys)) {
      if (groups.length > 0 && sizeBytes + groupBytes(group) > this.chunkBytes) {
        await this.#contentChunk(keys.salt, groups);
        [groups, sizeBytes] = [[], 0];
      }
      groups.push(group);
      sizeBytes += groupBytes(group);
      await this.rest();
    }
    await this.#contentChunk(keys.salt, groups);
  }

  /** Yields the contents of each key, in groups of about half a chunk at most. */
  *#groups(state: CollectionState, keys: SnapshotKeys): Generator<ContentGroup> {
    const { encrypted } = state;
    for (const keyId of encrypted.contentKeys()) {
      let records: EncryptedRecord[] = [];
      let contents: Uint8Array[] = [];
      let sizeBytes = 0;
      for (const id of encrypted.idsUnder(keyId)) {
        const record = encrypted.get(id)!;
        const slot = record.content === 'slot' ? state.keptSlotOf(id) : undefined;
        if (slot === undefined) continue;
        records.push(record);
        contents.push(encodeContent(state.contentAt(slot)));
        sizeBytes += contents.at(-1)!.length;
        if (sizeBytes < this.chunkBytes / 2) continue;
        yield groupOf(records, contents, keys);
        [records, contents, sizeBytes] = [[], [], 0];
      }
      if (records.length > 0) yield groupOf(records, contents, keys);
    }
  }

  async #contentChunk(salt: Uint8Array, groups: readonly ContentGroup[]): Promise<void> {
    const rows = groups.length;
    const head: ChunkHead = { kind: 'contents', first: groups[0]?.ids[0] ?? 0, rows, stored: rows };
    const bytes = encodeGroups(salt, groups);
    await this.#append(head, bytes, checksumOf(head, bytes));
  }

  async state(state: CollectionState): Promise<void> {
    const { encrypted, tree, requests, graph, versions } = state;
    const { changes } = tree;
    await this.#rows(rows.ENCRYPTED, 0, encrypted.all());
    await this.#rows(rows.EXPIRIES, 0, encryptedExpiries(state));
    await this.#rows(rows.SHREDDED, 0, encrypted.shreddedKeys());
    await this.#rows(rows.ERASURE_FACTS, 0, encrypted.erasures.all());
    await this.#rows(
      rows.LEAF_CHANGES,
      0,
      each(0, changes.length, (place) => changes.at(place)),
    );
    await this.#rows(rows.REQUESTS, 0, requests.entries());
    await this.#rows(
      rows.NODES,
      1,
      each(1, graph.nextNodeId, (id) => graph.node(id) ?? null),
    );
    await this.#rows(
      rows.EDGES,
      1,
      each(1, graph.nextEdgeId, (id) => graph.snapshotEdge(id)),
    );
    await this.#rows(
      rows.GRAPH_ROOTS,
      0,
      each(0, graph.history.length, (place) => graph.history.entry(place)),
    );
    await this.#rows(rows.READ_AUDIT, 0, accessSettings(state));
    await this.#rows(rows.LIFETIMES, 0, listed(versions.save()));
  }

  /** `first`: the number of the first row. */
  async #rows<T>({ kind, rowBytes, put }: rows.RowCodec<T>, first: number, items: Iterable<T>): Promise<void> {
    const rowsMax = Math.max(1, Math.floor(this.chunkBytes / rowBytes));
    let row = new rows.Row(new Uint8Array(0));
    let from = first;
    let count = 0;
    const write = async (): Promise<void> => {
      const head: ChunkHead = { kind, first: from, rows: count, stored: count };
      const bytes = row.bytes.subarray(0, count * rowBytes);
      await this.#append(head, bytes, checksumOf(head, bytes));
      from += count;
      count = 0;
    };
    for (const item of items) {
      // A short list takes less than a chunk of a MiB; a long one is written in full chunks.
      if (count * rowBytes === row.bytes.length) row = grown(row, Math.min(rowsMax, 2 * count + 4) * rowBytes);
      row.at = count * rowBytes;
      put(row, item);
      if (++count < rowsMax) continue;
      await write();
      row = new rows.Row(new Uint8Array(row.bytes.length));
    }
    if (count > 0) await write();
  }

  async #recordChunk(
    state: CollectionState,
    first: number,
    images: readonly (RecordImage | undefined)[],
  ): Promise<void> {
    const stored = images.filter((image) => image !== undefined);
    const described = stored.reduce((sum, image) => sum + describedBytesOf(image), 0);
    const columns = emptyRows(stored.length, state.dimension, described);
    const leaves = new Uint8Array(images.length * HASH_BYTES);
    let row = 0;
    let at = 0;
    for (const [i, image] of images.entries()) {
      if (image === undefined) continue;
      const { slot, isTombstoned, tag, insertedMs, expiresAtMs, metadata, text, externalId } = image;
      columns.ids[row] = first + i;
      columns.tags[row] = tag;
      columns.insertedMs[row] = insertedMs;
      columns.states[row] =
        (isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live) | (expiresAtMs === undefined ? 0 : EXPIRES);
      columns.vectors.set(state.vectors.vectorBytes(slot), row * 4 * state.dimension);
      columns.metadataLengths[row] = metadata?.length ?? NONE;
      columns.textLengths[row] = text?.length ?? NONE;
      columns.externalIdLengths[row] = externalId?.length ?? NONE;
      for (const description of [metadata, text, externalId]) {
        if (description === null) continue;
        columns.descriptions.set(description, at);
        at += description.length;
      }
      if (expiresAtMs !== undefined) {
        writeU64(new DataView(columns.descriptions.buffer, columns.descriptions.byteOffset), at, expiresAtMs);
        at += EXPIRY_BYTES;
      }
      leaves.set(state.tree.leaf(first + i - 1), i * HASH_BYTES);
      row++;
    }
    const head: ChunkHead = { kind: 'records', first, rows: images.length, stored: stored.length };
    await this.#append(head, new Uint8Array(columns.head.buffer), checksumOfRecords(head, columns, leaves));
  }

  async #append(head: ChunkHead, bytes: Uint8Array, checksum: Uint8Array): Promise<void> {
    this.chunks.push({ ...head, offset: this.file.sizeBytes, length: bytes.length, checksum });
    await this.file.write(bytes);
    await this.rest();
  }
}

/** Encrypts the contents of records under one key, and overwrites them. */
function groupOf(
  records: readonly EncryptedRecord[],
  contents: readonly Uint8Array[],
  keys: SnapshotKeys,
): ContentGroup {
  const plaintext = joinContents(contents);
  const ciphertext = keys.encrypt(records, plaintext);
  plaintext.fill(0);
  // The key was shredded since, so the snapshot is of no use: its maker is about to be closed.
  if (ciphertext === undefined) throw moved();
  return { ids: records.map(({ id }) => id), ciphertext };
}

const describedBytesOf = (image: RecordImage): number =>
  (image.metadata?.length ?? 0) + (image.text?.length ?? 0) + (image.externalId?.length ?? 0) + expiryBytes(image);

function* accessSettings({ readAudit, accessRetentionDays: retentionDays }: CollectionState) {
  if (readAudit !== 'off' || retentionDays > 0) yield { audit: READ_AUDITS.indexOf(readAudit), retentionDays };
}

function* encryptedExpiries({ encrypted, expiries }: CollectionState): Generator<[number, number]> {
  if (expiries.size === 0) return;
  for (const { id } of encrypted.all()) {
    const expiresAtMs = expiries.of(id);
    if (expiresAtMs !== undefined) yield [id, expiresAtMs];
  }
}

function* each<T>(from: number, end: number, at: (index: number) => T): Generator<T> {
  for (let index = from; index < end; index++) yield at(index);
}

/** Yields the number of lists, the length of each, and all their numbers. `NumberLists` of `restore.ts` splits them. */
function* listed(lists: readonly SavedNumbers[]): Generator<number> {
  yield lists.length;
  for (const { length } of lists) yield length;
  for (const { pieces } of lists) for (const piece of pieces) yield* piece;
}

function grown({ bytes }: rows.Row, sizeBytes: number): rows.Row {
  const larger = new Uint8Array(sizeBytes);
  larger.set(bytes);
  return new rows.Row(larger);
}
