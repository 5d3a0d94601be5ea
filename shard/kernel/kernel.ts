/** The exports of the compiled kernel (`assembly/`), and its instantiation over a memory. */
import { compileFile, instantiate, type SharedMemory } from '../../shared/webAssembly.js';

/**
 * Functions of the kernel; `assembly/` documents them. Addresses and sizes count bytes, as u32. Arguments are numbers
 * below 2^32. Results arrive as i32; `>>> 0` makes them unsigned. A scan is the address of its scratch. `plane`: 0 for
 * none. `way`: how rows are read; see `assembly/way.ts`. `isWide`: 0 or 1.
 *
 * WebAssembly takes numbers only, so each function has as many parameters as it needs numbers.
 */
export interface Kernel {
  scanBytes(capacity: number, strideBytes: number): number;
  beginScan(scan: number, capacity: number, strideBytes: number): number;
  scanRows(
    scan: number,
    vectors: number,
    ids: number,
    bitmap: number,
    words: number,
    firstSlot: number,
    plane: number,
    way: number,
  ): void;
  rowList(scan: number): number;
  offerRows(
    scan: number,
    vectors: number,
    ids: number,
    bitmap: number,
    listed: number,
    firstSlot: number,
    plane: number,
    way: number,
    next: number,
  ): void;
  enterGather(
    scan: number,
    vectors: number,
    ids: number,
    bitmap: number,
    words: number,
    firstSlot: number,
    plane: number,
    way: number,
  ): void;
  gatherRows(scan: number, limit: number): number;
  beginFit(plane: number): void;
  fitRows(plane: number, vectors: number, ids: number, rows: number, strideBytes: number): void;
  endFit(plane: number, strideBytes: number): void;
  encodeRows(plane: number, vectors: number, strideBytes: number, first: number, rows: number): void;
  splitRows(plane: number, vectors: number, strideBytes: number, rows: number, to: number, isBytes: number): number;
  joinRow(plane: number, residuals: number, strideBytes: number, row: number, to: number, isBytes: number): void;
  entries(scan: number): number;
  mergeScan(scan: number, other: number): void;
  finishScan(scan: number): number;
  rotate(vector: number, components: number, size: number, rounds: number, flips: number): void;
  encodeSigns(vector: number, components: number, code: number): void;
  enterSigns(query: number, centre: number, doubt: number): void;
  estimateRows(
    query: number,
    codes: number,
    rows: number,
    number: number,
    bitmap: number,
    limit: number,
    found: number,
  ): number;
  keepLeast(found: number, count: number, wanted: number, work: number): number;
  largestComponent(vector: number, sizeBytes: number): number;
  readAll(from: number, sizeBytes: number): bigint;
  cutRows(
    from: number,
    strideBytes: number,
    rows: number,
    to: number,
    codeBytes: number,
    shift: number,
    limit: number,
  ): void;
  scanList(
    scan: number,
    plane: number,
    slots: number,
    bitmap: number,
    first: number,
    rows: number,
    found: number,
  ): number;
  scanListBySigns(
    scan: number,
    plane: number,
    slots: number,
    bitmap: number,
    first: number,
    rows: number,
    found: number,
    query: number,
    signs: number,
  ): number;
  worstDistance(scan: number): number;
  assignRows(lists: number, from: number, rows: number, assigned: number, isWide: number): number;
  lowerDistancesToSeed(
    codes: number,
    rows: number,
    codeBytes: number,
    seed: number,
    nearest: number,
    totals: number,
  ): number;
  rowAtSum(nearest: number, rows: number, target: number): number;
  addToSums(from: number, rows: number, strideBytes: number, assigned: number, sums: number, counts: number): void;
  walkGraph(graph: number, walk: number, most: number): number;
  continueWalk(graph: number, walk: number, most: number): number;
  linkNodes(graph: number, walk: number, most: number): number;
  findBadNode(graph: number, upperWords: number, first: number, most: number): number;
  moveToMeans(sums: number, counts: number, lists: number, strideBytes: number, centroids: number): void;
}

/** Bytes of an entry of a finished scan, or of a gathered row: score f64, id f64, unused u32, slot u32. */
export const ENTRY_BYTES = 24;

/** Bytes of a row found by `scanList`: the least squared distance f64, slot u32, unused u32. */
export const FOUND_BYTES = 16;

/** Bytes of a row found by `estimateRows`: number u32, estimate f32. */
export const ESTIMATE_BYTES = 8;
/** Spare bytes that `estimateRows` needs after the last row. */
export const ESTIMATE_SPARE_BYTES = 64;

/**
 * Bytes of the work area of `keepLeast`. The kernel writes at its beginning the limit that another row must be below
 * (f32).
 */
export const KEEPING_BYTES = 1024;

/** Capacity of the row list of a scan. */
export const BATCH_ROWS = 256;

let compiled: object | undefined;

/** The compiled kernel. The first call compiles it in a few milliseconds. */
export function kernelModule(): object {
  compiled ??= compileFile(new URL('./kernel.wasm', import.meta.url));
  return compiled;
}

export const openKernel = (memory: SharedMemory, module = kernelModule()): Kernel => instantiate(module, memory);
