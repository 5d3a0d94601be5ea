/** The compiled kernel (`assembly/`): what it exports, and how it is put over a memory. */
import { readFileSync } from 'node:fs';

/**
 * Addresses and sizes are u32 bytes; those passed in may be any number below 2^32, those returned come as i32 and are
 * made unsigned with `>>> 0`. A scan is known by the address of its scratch. `assembly/` documents each function.
 */
export interface Kernel {
  scanBytes(capacity: number, strideBytes: number): number;
  beginScan(scan: number, capacity: number, strideBytes: number): number;
  scanNarrow(
    scan: number,
    vectors: number,
    ids: number,
    bitmap: number,
    words: number,
    firstSlot: number,
    sieveShift: number,
  ): void;
  scanWide(scan: number, vectors: number, ids: number, bitmap: number, words: number, firstSlot: number): void;
  rowList(scan: number): number;
  offerNarrow(scan: number, vectors: number, ids: number, listed: number, firstSlot: number, sieveShift: number): void;
  offerWide(scan: number, vectors: number, ids: number, listed: number, firstSlot: number): void;
  enterGather(scan: number, vectors: number, ids: number, bitmap: number, words: number, firstSlot: number): void;
  gatherNarrow(scan: number, limit: number, sieveShift: number): number;
  gatherWide(scan: number, limit: number): number;
  gatheredRows(scan: number): number;
  entryCount(scan: number): number;
  finishScan(scan: number): number;
  bitScanBytes(codeBytes: number, entries: number): number;
  beginBitScan(scan: number, codeBytes: number, wanted: number): number;
  scanBits(scan: number, codes: number, rows: number, bitmap: number, firstSlot: number): number;
  keepNearest(scan: number): number;
  forgetEntries(scan: number): void;
  bitEntries(scan: number): number;
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
    codes: number,
    slots: number,
    rows: number,
    codeBytes: number,
    query: number,
    shift: number,
    limit: number,
    found: number,
  ): number;
  assignRows(lists: number, from: number, rows: number, assigned: number, wide: number): number;
  lowerToSeed(codes: number, rows: number, codeBytes: number, seed: number, nearest: number, totals: number): number;
  rowAtSum(nearest: number, rows: number, target: number): number;
  addToSums(from: number, rows: number, strideBytes: number, assigned: number, sums: number, counts: number): void;
  moveToMeans(sums: number, counts: number, lists: number, strideBytes: number, centroids: number): void;
}

/** Bytes of an entry of a finished scan, and of a gathered row: score f64, id f64, 4 bytes of no meaning, slot u32. */
export const ENTRY_BYTES = 24;

/** Rows that the row list of a scan holds. */
export const BATCH_ROWS = 256;

export const PAGE_BYTES = 65_536;

/** Shared, so that worker threads see it without a copy, and so that it grows without detaching its views. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  /** Throws RangeError when the system refuses. */
  grow(pages: number): number;
}

/** The part of the WebAssembly interface used here; Node's types leave it out. */
declare const WebAssembly: {
  readonly Memory: new (limits: { initial: number; maximum: number; shared: true }) => SharedMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: { env: { memory: SharedMemory } }) => { readonly exports: unknown };
};

let compiled: object | undefined;

/** Compiles the kernel on the first call of the process: a few milliseconds. */
function kernelModule(): object {
  compiled ??= new WebAssembly.Module(readFileSync(new URL('./kernel.wasm', import.meta.url)));
  return compiled;
}

/** An empty memory. Address space is taken for all of `maximumBytes` at once, memory only as it grows. */
export const openMemory = (maximumBytes: number): SharedMemory =>
  new WebAssembly.Memory({ initial: 1, maximum: maximumBytes / PAGE_BYTES, shared: true });

export const openKernel = (memory: SharedMemory): Kernel =>
  new WebAssembly.Instance(kernelModule(), { env: { memory } }).exports as Kernel;
