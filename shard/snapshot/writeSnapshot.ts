/** A state and its history to a snapshot's file, a chunk at a time. */
import { StreamedFile } from '../../shared/durable.js';
import { HASH_BYTES } from '../../shared/limits.js';
import { RECORD_STATE } from '../audit/leaf.js';
import type { CollectionState, RecordImage } from '../collection/collectionState.js';
import type { LogHistory } from '../collection/history.js';
import type { SavedNumbers } from '../collection/lifetimes.js';
import { encodeFooter } from './footer.js';
import {
  CHUNK_BYTES,
  type ChunkEntry,
  type ChunkHead,
  encodeHeader,
  ROW_BYTES,
  type RowKind,
  type SnapshotFacts,
} from './format.js';
import { emptyRows, recordBytes, sealOfRecords } from './recordChunk.js';
import {
  putChainHead,
  putEdge,
  putEncrypted,
  putFrame,
  putGraphRoot,
  putLeafChange,
  putNode,
  putNumber,
  putRequest,
  putShredded,
  type RowBytes,
} from './rows.js';
import { sealOf } from './snapshotFile.js';

export interface Written {
  /** At the end of a frame; not changed until the file is written. */
  readonly state: CollectionState;
  readonly history: LogHistory;
  readonly describedBytes: number;
}

type Put<T> = (row: RowBytes, item: T) => void;

/**
 * Durable when it resolves, with its size in bytes; where it throws nothing of it is left. Works for some milliseconds at a
 * time, with `rest` awaited in between, which may throw.
 */
export async function writeSnapshot(
  path: string,
  collectionId: number,
  written: Written,
  madeAtMs: number,
  rest: () => Promise<void>,
  chunkBytes = CHUNK_BYTES,
): Promise<number> {
  const file = await StreamedFile.begin(path);
  try {
    const writer = new Writer(file, rest, chunkBytes);
    await file.write(encodeHeader());
    await writer.history(written.history);
    await writer.records(written.state);
    await writer.state(written.state);
    await file.write(encodeFooter(factsOf(collectionId, written, madeAtMs), writer.chunks, file.sizeBytes));
    await file.finish();
    return file.sizeBytes;
  } catch (error) {
    await file.abandon();
    throw error;
  }
}

function factsOf(collectionId: number, { state, history, describedBytes }: Written, madeAtMs: number): SnapshotFacts {
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
    graphChangedBy: state.graph.changedBy,
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
      'frames',
      each(history.frames, (index) => history.frame(index)),
      putFrame,
    );
    await this.#rows(
      'chainHeads',
      each(history.tree.size, (sequence) => history.tree.chainHead(sequence)),
      putChainHead,
    );
  }

  /** Each chunk as full as goes. */
  async records(state: CollectionState): Promise<void> {
    let first = 1;
    let sizeBytes = 0;
    let images: (RecordImage | undefined)[] = [];
    for (let id = 1; id < state.nextRecordId; id++) {
      const image = state.image(id);
      const takes =
        image === undefined
          ? HASH_BYTES
          : recordBytes(state.dimension, image.metadata?.length ?? 0, image.text?.length ?? 0);
      if (images.length > 0 && sizeBytes + takes > this.chunkBytes) {
        await this.#recordChunk(state, first, images);
        [first, sizeBytes, images] = [id, 0, []];
      }
      images.push(image);
      sizeBytes += takes;
    }
    if (images.length > 0) await this.#recordChunk(state, first, images);
  }

  async state({ encrypted, tree, requests, graph, lifetimes }: CollectionState): Promise<void> {
    const { history } = graph;
    await this.#rows('encrypted', encrypted.all(), putEncrypted);
    await this.#rows('shredded', encrypted.shreddedKeys(), putShredded);
    await this.#rows(
      'leafChanges',
      each(tree.changes.length, (place) => tree.changes.at(place)),
      putLeafChange,
    );
    await this.#rows('requests', requests.entries(), putRequest);
    await this.#rows(
      'nodes',
      each(graph.nextNodeId - 1, (index) => graph.nodeGiven(index + 1)),
      putNode,
    );
    await this.#rows(
      'edges',
      each(graph.nextEdgeId - 1, (index) => graph.edgeGiven(index + 1)),
      putEdge,
    );
    await this.#rows(
      'graphRoots',
      each(history.length, (place) => history.entry(place)),
      putGraphRoot,
    );
    await this.#rows('lifetimes', listed(lifetimes.save()), putNumber);
  }

  async #rows<T>(kind: RowKind, items: Iterable<T>, put: Put<T>): Promise<void> {
    const rowBytes = ROW_BYTES[kind];
    const rowsMax = Math.max(1, Math.floor(this.chunkBytes / rowBytes));
    let first = kind === 'nodes' || kind === 'edges' ? 1 : 0;
    let rows = 0;
    let bytes = new Uint8Array(0);
    for (const item of items) {
      // What is short has no chunk of a MiB; what is long is written in full ones.
      if ((rows + 1) * rowBytes > bytes.length) bytes = grown(bytes, Math.min(rowsMax, 2 * rows + 4) * rowBytes);
      put({ view: new DataView(bytes.buffer), bytes, at: rows * rowBytes }, item);
      if (++rows < rowsMax) continue;
      await this.#chunk({ kind, first, rows, stored: rows }, bytes.subarray(0, rows * rowBytes));
      first += rows;
      rows = 0;
      bytes = new Uint8Array(bytes.length);
    }
    if (rows > 0) await this.#chunk({ kind, first, rows, stored: rows }, bytes.subarray(0, rows * rowBytes));
  }

  async #recordChunk(
    state: CollectionState,
    first: number,
    images: readonly (RecordImage | undefined)[],
  ): Promise<void> {
    const stored = images.filter((image) => image !== undefined);
    const described = stored.reduce(
      (sum, { metadata, text }) => sum + (metadata?.length ?? 0) + (text?.length ?? 0),
      0,
    );
    const rows = emptyRows(stored.length, state.dimension, described);
    const leaves = new Uint8Array(images.length * HASH_BYTES);
    let row = 0;
    let at = 0;
    for (const [i, image] of images.entries()) {
      if (image === undefined) continue;
      const { slot, isTombstoned, tag, insertedMs, metadata, text } = image;
      rows.ids[row] = first + i;
      rows.tags[row] = tag;
      rows.insertedMs[row] = insertedMs;
      rows.states[row] = isTombstoned ? RECORD_STATE.tombstoned : RECORD_STATE.live;
      rows.vectors.set(state.vectors.vectorBytes(slot), row * 4 * state.dimension);
      rows.metadataLengths[row] = metadata?.length ?? -1;
      rows.textLengths[row] = text?.length ?? -1;
      for (const description of [metadata, text]) {
        if (description === null) continue;
        rows.descriptions.set(description, at);
        at += description.length;
      }
      leaves.set(state.tree.leaf(first + i - 1), i * HASH_BYTES);
      row++;
    }
    const head: ChunkHead = { kind: 'records', first, rows: images.length, stored: stored.length };
    await this.#append(head, new Uint8Array(rows.head.buffer), sealOfRecords(head, rows, leaves));
  }

  #chunk(head: ChunkHead, bytes: Uint8Array): Promise<void> {
    return this.#append(head, bytes, sealOf(head, bytes));
  }

  async #append(head: ChunkHead, bytes: Uint8Array, seal: Uint8Array): Promise<void> {
    this.chunks.push({ ...head, offset: this.file.sizeBytes, length: bytes.length, seal });
    await this.file.write(bytes);
    await this.rest();
  }
}

function* each<T>(count: number, at: (index: number) => T): Generator<T> {
  for (let index = 0; index < count; index++) yield at(index);
}

/** How many lists there are, the length of each, and all their numbers: what `lists` takes apart again. */
function* listed(lists: readonly SavedNumbers[]): Generator<number> {
  yield lists.length;
  for (const { length } of lists) yield length;
  for (const { pieces } of lists) for (const piece of pieces) yield* piece;
}

function grown(bytes: Uint8Array, sizeBytes: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(sizeBytes);
  larger.set(bytes);
  return larger;
}
