/**
 * The verifier knows the documented formats and BLAKE3, and nothing else: it shares no code with the engine, so that a
 * mistake in one is found by the other. It is written to be read, not to be fast.
 */
import { createRequire } from 'node:module';

const { createHash } = createRequire(import.meta.url)('blake3') as typeof import('blake3');

export const ABSENT = Buffer.alloc(32);

/** BLAKE3-256 of the parts, one after another. */
export function H(...parts: readonly Uint8Array[]): Buffer {
  const hasher = createHash();
  for (const part of parts) hasher.update(part);
  return Buffer.from(hasher.digest());
}

export const u8 = (value: number): Buffer => Buffer.from([value]);

export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

export function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

export const eventHash = (event: Uint8Array): Buffer => H(u8(0x00), event);
export const chainHead = (before: Uint8Array, event: Uint8Array): Buffer => H(u8(0x03), before, event);
export const stateRoot = (leaves: bigint, mth: Uint8Array): Buffer => H(u8(0x12), u64(leaves), mth);

export function stateHash(of: {
  configHash: Uint8Array;
  stateRoot: Uint8Array;
  graphRoot: Uint8Array;
  chainHead: Uint8Array;
  sequence: bigint;
  timeMs: bigint;
}): Buffer {
  return H(u8(0x13), of.configHash, of.stateRoot, of.graphRoot, of.chainHead, u64(of.sequence), u64(of.timeMs));
}
