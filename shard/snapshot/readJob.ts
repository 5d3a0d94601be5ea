/**
 * The parts of reading a snapshot that cost time by the byte: read, check, hash. They know nothing of the state, so that
 * any thread can do them; where they lead goes back to the thread that has it.
 */
import { unreachable } from '../../shared/errors.js';
import { HASH_BYTES } from '../../shared/limits.js';
import type { Pause } from '../../shared/log/pacer.js';
import { hashLogNode } from '../audit/logTree.js';
import { type HashNode, MerkleTree, type TreeHashes } from '../audit/merkleTree.js';
import { hashStateNode } from '../audit/stateNode.js';
import { edgeLeaf, hashGraphTreeNode, nodeLeaf } from '../graph/graphRoot.js';
import type { RowPlaces } from '../kernel/vectorBlocks.js';
import { nextTurn } from '../pause.js';
import type { ChunkEntry } from './format.js';
import { leavesOf, type RecordRows, rowsOf, sealOfRecords } from './recordChunk.js';
import { edgesIn, nodesIn } from './rows.js';
import { assertSeal, readChunk, verifiedChunk } from './snapshotFile.js';

/** Leaves that are hashed between two pauses: about 2 ms. */
const STEP_BYTES = 4_096 * HASH_BYTES;

/** Checks a chunk of records, writes vectors and ids to their places, and the leaves of all its ids to `leaves`. */
export interface RecordsJob {
  readonly op: 'records';
  readonly path: string;
  readonly chunk: ChunkEntry;
  readonly dimension: number;
  readonly places: readonly RowPlaces[];
  /** Of the whole tree, 32 bytes an id. */
  readonly leaves: SharedArrayBuffer;
}

/** Reads the leaves of a tree from chunks, and hashes it. */
export interface TreeJob {
  readonly op: 'chainHeads' | 'nodes' | 'edges';
  readonly path: string;
  readonly chunks: readonly ChunkEntry[];
}

/** Hashes the state tree over leaves that are all there. */
export interface StateTreeJob {
  readonly op: 'stateTree';
  readonly leaves: SharedArrayBuffer;
}

export type ReadJob = RecordsJob | TreeJob | StateTreeJob;

/** What is left to do of a chunk of records. */
export interface ReadRecords {
  /** The head of the chunk, as bytes. */
  readonly head: ArrayBuffer;
  readonly descriptions: ArrayBuffer;
}

export interface Read {
  records: ReadRecords;
  chainHeads: TreeHashes;
  nodes: TreeHashes;
  edges: TreeHashes;
  stateTree: TreeHashes;
}

/** Does a job, here or in another thread. Throws DamagedSnapshot. */
export type Reader = <J extends ReadJob>(job: J) => Promise<Read[J['op']]>;

/** In the thread that asks, some milliseconds at a time. */
export const readHere: Reader = async (job) => (await carryOut(job, nextTurn)) as Read[(typeof job)['op']];

/** `pause` is awaited between steps of some milliseconds. */
export async function carryOut(job: ReadJob, pause: Pause): Promise<Read[ReadJob['op']]> {
  switch (job.op) {
    case 'records':
      return readRecords(job);
    case 'chainHeads':
      return treeOf(job, hashLogNode, pause, (bytes) => bytes);
    case 'nodes':
      return treeOf(job, hashGraphTreeNode, pause, (bytes, chunk) =>
        joined(chunk, nodesIn(bytes), (node, i) =>
          node === null ? null : nodeLeaf({ ...node, nodeId: chunk.first + i }),
        ),
      );
    case 'edges':
      return treeOf(job, hashGraphTreeNode, pause, (bytes, chunk) =>
        joined(chunk, edgesIn(bytes), (edge, i) =>
          edge === null ? null : edgeLeaf({ ...edge, edgeId: chunk.first + i }),
        ),
      );
    case 'stateTree': {
      const tree = new MerkleTree(hashStateNode);
      await appendAll(tree, new Uint8Array(job.leaves), pause);
      return tree.hashes();
    }
    default:
      return unreachable(job);
  }
}

/** What may be given away with an answer rather than copied. */
export function transferable(answer: Read[ReadJob['op']]): ArrayBuffer[] {
  if ('head' in answer) return [answer.head, answer.descriptions];
  return answer.levels.flatMap((chunks) => chunks.map(({ buffer }) => buffer as ArrayBuffer));
}

function readRecords({ path, chunk, dimension, places, leaves }: RecordsJob): ReadRecords {
  const rows = rowsOf(readChunk(path, chunk), chunk.stored, dimension);
  const own = leavesOf(chunk, rows, dimension);
  assertSeal(chunk, sealOfRecords(chunk, rows, own));
  new Uint8Array(leaves).set(own, (chunk.first - 1) * HASH_BYTES);
  writeRows(rows, dimension, places);
  return { head: rows.head.slice().buffer, descriptions: rows.descriptions.slice().buffer };
}

function writeRows({ vectors, ids }: RecordRows, dimension: number, places: readonly RowPlaces[]): void {
  const vectorBytes = 4 * dimension;
  let row = 0;
  for (const { buffer, vectorsAddress, idsAddress, strideBytes, rows } of places) {
    new Float64Array(buffer, idsAddress, rows).set(ids.subarray(row, row + rows));
    const into = new Uint8Array(buffer, vectorsAddress, rows * strideBytes);
    if (strideBytes === vectorBytes) into.set(vectors.subarray(row * vectorBytes, (row + rows) * vectorBytes));
    else
      for (let i = 0; i < rows; i++) {
        into.set(vectors.subarray((row + i) * vectorBytes, (row + i + 1) * vectorBytes), i * strideBytes);
        into.fill(0, i * strideBytes + vectorBytes, (i + 1) * strideBytes);
      }
    row += rows;
  }
}

async function treeOf(
  { path, chunks }: TreeJob,
  hashNode: HashNode,
  pause: Pause,
  leavesIn: (bytes: Uint8Array, chunk: ChunkEntry) => Uint8Array,
): Promise<TreeHashes> {
  const tree = new MerkleTree(hashNode);
  for (const chunk of chunks) await appendAll(tree, leavesIn(verifiedChunk(path, chunk), chunk), pause);
  return tree.hashes();
}

async function appendAll(tree: MerkleTree, leaves: Uint8Array, pause: Pause): Promise<void> {
  for (let at = 0; at < leaves.length; at += STEP_BYTES) {
    tree.append(leaves.subarray(at, at + STEP_BYTES));
    await pause();
  }
}

/** The empty leaf for what is null. */
function joined<T>(
  { rows: count }: ChunkEntry,
  rows: Iterable<T>,
  leafOf: (row: T, index: number) => Uint8Array | null,
): Uint8Array {
  const leaves = new Uint8Array(count * HASH_BYTES);
  let i = 0;
  for (const row of rows) {
    const leaf = leafOf(row, i);
    if (leaf !== null) leaves.set(leaf, i * HASH_BYTES);
    i++;
  }
  return leaves;
}
