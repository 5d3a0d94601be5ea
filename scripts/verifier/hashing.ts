/**
 * The verifier knows the documented formats (`shared/FORMATS.md`) and BLAKE3, and nothing else: it shares no code with
 * the engine, so that a mistake in one is found by the other.
 */
import blake3 from 'blake3';

/** Stands for what is not there, and for the chain before its first event. */
export const ABSENT = Buffer.alloc(32);

/** Most messages are short: hashed in one call they take a fifth of the time. */
const ONE_CALL_BYTES = 16_384;
const message = Buffer.alloc(ONE_CALL_BYTES);

/** BLAKE3-256 of the parts, one after another. */
export function H(...parts: readonly Uint8Array[]): Buffer {
  const sizeBytes = parts.reduce((sum, { length }) => sum + length, 0);
  if (sizeBytes > ONE_CALL_BYTES) return hashInPieces(parts);
  let at = 0;
  for (const part of parts) {
    message.set(part, at);
    at += part.length;
  }
  return blake3.hash(message.subarray(0, sizeBytes)) as Buffer;
}

function hashInPieces(parts: readonly Uint8Array[]): Buffer {
  const hasher = blake3.createHash();
  for (const part of parts) hasher.update(part);
  return Buffer.from(hasher.digest());
}

/** A hash of what comes piece by piece. `close` it, after `digest` or without. */
export class RunningHash {
  readonly #hasher = blake3.createHash();
  #digest: Buffer | undefined;

  /** Passed over after `digest`. */
  update(bytes: Uint8Array): void {
    if (this.#digest === undefined) this.#hasher.update(bytes);
  }

  digest(): Buffer {
    this.#digest ??= Buffer.from(this.#hasher.digest());
    return this.#digest;
  }

  close(): void {
    if (this.#digest === undefined) this.#hasher.dispose();
  }
}

const BYTES = Array.from({ length: 256 }, (_, value) => Buffer.from([value]));

export const u8 = (value: number): Buffer => BYTES[value] as Buffer;

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
export const logRoot = (size: bigint, mth: Uint8Array): Buffer => H(u8(0x02), u64(size), mth);
export const stateRoot = (leaves: bigint, mth: Uint8Array): Buffer => H(u8(0x12), u64(leaves), mth);

export interface StateFacts {
  readonly configHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly chainHead: Uint8Array;
  readonly sequence: bigint;
  readonly timeMs: bigint;
}

export const stateHash = (of: StateFacts): Buffer =>
  H(u8(0x13), of.configHash, of.stateRoot, of.graphRoot, of.chainHead, u64(of.sequence), u64(of.timeMs));
