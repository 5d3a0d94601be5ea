/**
 * The parts of reading a snapshot whose cost grows with its bytes: read, verify, hash. They do not touch the state, so
 * any thread can do them. Their results are sent to the thread that owns it.
 */
import { unreachable } from '../../shared/errors/errors.js';
import { HASH_BYTES } from '../../shared/limits.js';
import type { Pause } from '../../shared/scheduling/pacer.js';
import { sliceTurns } from '../../shared/scheduling/slice.js';
import { hashLogNode } from '../audit/logTree.js';
import type { HashNode } from '../audit/merkleNode.js';
import { MerkleTree, type TreeHashes } from '../audit/merkleTree.js';
import { StateTree } from '../audit/stateTree.js';
import { edgeLeaf, hashGraphTreeNode, nodeLeaf } from '../graph/graphRoot.js';
import type { RowPlaces } from '../kernel/vectorBlocks.js';
import type { ChunkEntry } from './format.js';
import { checksumOfRecords, leavesOf, type RecordRows, rowsOf } from './recordChunk.js';
import { EDGES, NODES, type RowCodec, rowsIn } from './rows.js';
import { assertChecksum, readChunk, verifiedChunk } from './snapshotFile.js';

/** Bytes of leaves that are hashed between two pauses: about 1 ms. */
const STEP_BYTES = 2_048 * HASH_BYTES;

/** Verifies a chunk of records, writes vectors and ids to `places`, and the leaves of all its ids to `leaves`. */
interface RecordsJob {
  readonly op: 'records';
  readonly path: string;
  readonly chunk: ChunkEntry;
  readonly dimension: number;
  readonly places: readonly RowPlaces[];
  /** Leaves of the whole tree, 32 bytes an id. */
  readonly leaves: SharedArrayBuffer;
}

interface TreeJob {
  readonly op: 'chainHeads' | 'nodes' | 'edges';
  readonly path: string;
  readonly chunks: readonly ChunkEntry[];
}

interface StateTreeJob {
  readonly op: 'stateTree';
  readonly leaves: SharedArrayBuffer;
}

export type ReadJob = RecordsJob | TreeJob | StateTreeJob;

/** Parts of a chunk of records that the owner of the state reads. */
export interface ReadRecords {
  readonly head: ArrayBuffer;
  readonly descriptions: ArrayBuffer;
}

export interface ReadResults {
  records: ReadRecords;
  chainHeads: TreeHashes;
  nodes: TreeHashes;
  edges: TreeHashes;
  stateTree: TreeHashes;
}

/** Executes a job, here or in another thread. Throws DamagedSnapshot. */
export type JobReader = <J extends ReadJob>(job: J) => Promise<ReadResults[J['op']]>;

/** Executes a job in the calling thread, some milliseconds at a time. */
export const readHere: JobReader = async (job) =>
  (await carryOut(job, sliceTurns())) as ReadResults[(typeof job)['op']];

/** Executes a job. Awaits `pause` between steps of some milliseconds. */
export async function carryOut(job: ReadJob, pause: Pause): Promise<ReadResults[ReadJob['op']]> {
  switch (job.op) {
    case 'records':
      return readRecords(job);
    case 'chainHeads':
      return treeOf(job, hashLogNode, pause, (bytes) => bytes);
    case 'nodes':
      return treeOf(job, hashGraphTreeNode, pause, (bytes, chunk) =>
        leavesOfRows(chunk, NODES, bytes, (node, nodeId) => nodeLeaf({ ...node, nodeId })),
      );
    case 'edges':
      return treeOf(job, hashGraphTreeNode, pause, (bytes, chunk) =>
        leavesOfRows(chunk, EDGES, bytes, (edge, edgeId) => edgeLeaf({ ...edge, edgeId })),
      );
    case 'stateTree': {
      const tree = new StateTree();
      await appendAll(tree, new Uint8Array(job.leaves), pause);
      return tree.hashes();
    }
    default:
      return unreachable(job);
  }
}

/** Returns the buffers of an answer that are transferred to the other thread, not copied. */
export function transferable(answer: ReadResults[ReadJob['op']]): ArrayBuffer[] {
  if ('head' in answer) return [answer.head, answer.descriptions];
  return answer.levels.flatMap((chunks) => chunks.map(({ buffer }) => buffer as ArrayBuffer));
}

function readRecords({ path, chunk, dimension, places, leaves }: RecordsJob): ReadRecords {
  const rows = rowsOf(readChunk(path, chunk), chunk.stored, dimension);
  const own = leavesOf(chunk, rows, dimension);
  assertChecksum(chunk, checksumOfRecords(chunk, rows, own));
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

/** Returns the leaves of a chunk of nodes or edges; the empty leaf for a deleted one. */
function leavesOfRows<T>(
  { first, rows: count }: ChunkEntry,
  codec: RowCodec<T | null>,
  bytes: Uint8Array,
  leafOf: (row: T, id: number) => Uint8Array,
): Uint8Array {
  const leaves = new Uint8Array(count * HASH_BYTES);
  let i = 0;
  for (const row of rowsIn(codec, bytes)) {
    if (row !== null) leaves.set(leafOf(row, first + i), i * HASH_BYTES);
    i++;
  }
  return leaves;
}
