/**
 * Reused memory for bodies. Garbage outside of the heap would start full collections. For a request with long vectors that costs
 * more than the rest of its way through this process.
 *
 * Memory in use has one user, so that a worker may take it over.
 */

/** Larger bodies are rare, and a worker takes most of them over. */
const REUSED_BYTES = 64 * 1024;
const LEAST_BYTES = 512;
/** Largest number of free buffers of each size: at most 8 MiB in all. */
const KEPT = 64;

/** Free buffers by size, which is a power of two. */
const kept = new Map<number, ArrayBuffer[]>();

/** Memory with arbitrary content. Up to REUSED_BYTES it may take twice its size. */
export function bodyMemory(sizeBytes: number): Buffer<ArrayBuffer> {
  if (sizeBytes > REUSED_BYTES) return Buffer.allocUnsafeSlow(sizeBytes);
  let roomBytes = LEAST_BYTES;
  while (roomBytes < sizeBytes) roomBytes *= 2;
  const memory = kept.get(roomBytes)?.pop() ?? Buffer.allocUnsafeSlow(roomBytes).buffer;
  return Buffer.from(memory, 0, sizeBytes);
}

/** Returns unused memory from `bodyMemory`; does nothing if a worker has taken it over. */
export function reuseMemory({ buffer }: Buffer<ArrayBuffer>): void {
  const { byteLength } = buffer;
  if (byteLength < LEAST_BYTES || byteLength > REUSED_BYTES || !Number.isInteger(Math.log2(byteLength))) return;
  const same = kept.get(byteLength);
  if (same === undefined) kept.set(byteLength, [buffer]);
  else if (same.length < KEPT) same.push(buffer);
}
