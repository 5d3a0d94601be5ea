/**
 * Reused memory for bodies. Garbage outside of the heap would start full collections. For a request with long vectors that costs
 * more than the rest of its way through this process. The system clears each page of new memory when it is first written. For
 * 32 MiB that takes 20 ms of a turn; a copy into used memory takes 4.
 *
 * Memory in use has one user, so that a worker may take it over.
 */

import { FreeMemory } from '../../shared/longMemory.js';
import { sliceTurns } from '../../shared/scheduling/slice.js';

/** Larger bodies are rare, and of any size. */
const SMALL_BYTES = 64 * 1024;
const LEAST_BYTES = 512;
/** Largest number of free buffers of each size: at most 8 MiB in all. */
const KEPT = 64;
/** Bound of the free buffers for larger bodies: two of the largest body. */
const LARGE_KEPT_BYTES = 64 << 20;
/**
 * Memory for a longer body is shared with the worker, up to SHARED_BYTES in all. V8 counts other memory that comes back from a
 * worker as new. For 32 MiB it would collect all garbage of this thread, in 5 to 25 ms.
 */
const SHARED_FROM_BYTES = 1 << 20;
const SHARED_BYTES = LARGE_KEPT_BYTES;
/** New memory that is cleared in one turn of the event loop: less than half a millisecond. */
const CLEARED_BYTES = 512 << 10;

/** Memory of a body. It is shared with the worker that prepares the body, or transferred to it. */
export type BodyMemory = Buffer<ArrayBufferLike>;

/** Free buffers by size, which is a power of two. */
const kept = new Map<number, ArrayBufferLike[]>();
/** Free buffers for larger bodies. */
const large = new FreeMemory(LARGE_KEPT_BYTES);
/** Bytes of all shared buffers, also of unused ones until they are collected. */
let sharedBytes = 0;
const collected = new FinalizationRegistry<number>((sizeBytes) => {
  sharedBytes -= sizeBytes;
});

/** Memory with arbitrary content. Up to SMALL_BYTES it may take twice its size. */
export function bodyMemory(sizeBytes: number): BodyMemory {
  if (sizeBytes > SMALL_BYTES) return Buffer.from(large.take(sizeBytes) ?? newBuffer(sizeBytes), 0, sizeBytes);
  let roomBytes = LEAST_BYTES;
  while (roomBytes < sizeBytes) roomBytes *= 2;
  const memory = kept.get(roomBytes)?.pop() ?? Buffer.allocUnsafeSlow(roomBytes).buffer;
  return Buffer.from(memory, 0, sizeBytes);
}

/** Memory like that of `bodyMemory` for a large body. New memory is written once, in slices: filling it then takes as long as a copy. */
export async function clearedMemory(sizeBytes: number): Promise<BodyMemory> {
  const free = large.take(sizeBytes);
  if (free !== undefined) return Buffer.from(free, 0, sizeBytes);
  const memory = Buffer.from(newBuffer(sizeBytes));
  const pause = sliceTurns();
  for (let at = 0; at < sizeBytes; at += CLEARED_BYTES) {
    await pause();
    memory.fill(0, at, Math.min(at + CLEARED_BYTES, sizeBytes));
  }
  return memory;
}

/** Whether the memory is shared with workers; other memory is transferred to them. */
export const isShared = ({ buffer }: Uint8Array): boolean => buffer instanceof SharedArrayBuffer;

function newBuffer(sizeBytes: number): ArrayBufferLike {
  if (sizeBytes <= SHARED_FROM_BYTES || sharedBytes + sizeBytes > SHARED_BYTES)
    return Buffer.allocUnsafeSlow(sizeBytes).buffer;
  const buffer = new SharedArrayBuffer(sizeBytes);
  sharedBytes += sizeBytes;
  collected.register(buffer, sizeBytes);
  return buffer;
}

/** Returns unused memory from `bodyMemory`; does nothing if a worker has taken it over. */
export function reuseMemory({ buffer }: BodyMemory): void {
  const { byteLength } = buffer;
  if (byteLength > SMALL_BYTES) {
    large.keep(buffer);
    return;
  }
  if (byteLength < LEAST_BYTES || !Number.isInteger(Math.log2(byteLength))) return;
  const same = kept.get(byteLength);
  if (same === undefined) kept.set(byteLength, [buffer]);
  else if (same.length < KEPT) same.push(buffer);
}
