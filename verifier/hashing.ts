/**
 * The hashes of the documented formats (`docs/formats.md`). The verifier shares no code with the engine, so that each shows
 * mistakes of the other.
 */
import { blake3 as portableBlake3 } from '@noble/hashes/blake3.js';
import { equal, fromHex, u8, u64 } from './bytes.js';

/** BLAKE3-256, of a message at once or in pieces. It must not keep the given bytes: they are overwritten later. */
export interface Blake3 {
  (message: Uint8Array): Uint8Array;
  create(): { update(bytes: Uint8Array): unknown; digest(): Uint8Array };
}

let blake3: Blake3 = portableBlake3;
const EMPTY_DIGEST = fromHex('af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262');

/**
 * Sets the implementation of BLAKE3 for every later verification. The portable one runs everywhere; on logs of a million events
 * a WebAssembly build is several times as fast. Throws an Error if it is not BLAKE3-256.
 */
export function useBlake3(implementation: Blake3): void {
  if (![implementation(new Uint8Array(0)), implementation.create().digest()].every((hash) => equal(hash, EMPTY_DIGEST)))
    throw new Error('this is not BLAKE3-256');
  blake3 = implementation;
}

/** The hash of a missing node or leaf, and the chain head before the first event. */
export const ABSENT: Uint8Array = new Uint8Array(32);

/** Largest message that is hashed in one call, which takes a fifth of the time for short ones. */
const ONE_CALL_BYTES = 16_384;
const message = new Uint8Array(ONE_CALL_BYTES);

/** BLAKE3-256 of the concatenated parts. */
export function H(...parts: readonly Uint8Array[]): Uint8Array {
  let sizeBytes = 0;
  for (const part of parts) {
    if (sizeBytes + part.length > ONE_CALL_BYTES) return hashInPieces(parts);
    message.set(part, sizeBytes);
    sizeBytes += part.length;
  }
  return blake3(message.subarray(0, sizeBytes));
}

function hashInPieces(parts: readonly Uint8Array[]): Uint8Array {
  const hasher = blake3.create();
  for (const part of parts) hasher.update(part);
  return hasher.digest();
}

/** A hash of bytes that arrive in pieces. `close` releases the implementation's memory. */
export class RunningHash {
  readonly #hasher = blake3.create();
  #digest: Uint8Array | undefined;

  /** Ignored after `digest`. */
  update(bytes: Uint8Array): void {
    if (this.#digest === undefined) this.#hasher.update(bytes);
  }

  digest(): Uint8Array {
    this.#digest ??= this.#hasher.digest();
    return this.#digest;
  }

  close(): void {
    this.digest();
  }
}

export const eventHash = (event: Uint8Array): Uint8Array => H(u8(0x00), event);
/** `actor`: the bytes of the event's actor; null for an event of version 1. */
export const chainHead = (before: Uint8Array, event: Uint8Array, actor: Uint8Array | null): Uint8Array =>
  actor === null ? H(u8(0x03), before, event) : H(u8(0x04), before, event, actor);
export const logRoot = (size: bigint, mth: Uint8Array): Uint8Array => H(u8(0x02), u64(size), mth);
export const stateRoot = (leaves: bigint, mth: Uint8Array): Uint8Array => H(u8(0x12), u64(leaves), mth);

export interface StateFacts {
  readonly configHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly graphRoot: Uint8Array;
  readonly chainHead: Uint8Array;
  readonly sequence: bigint;
  readonly timeMs: bigint;
}

export const stateHash = (of: StateFacts): Uint8Array =>
  H(u8(0x13), of.configHash, of.stateRoot, of.graphRoot, of.chainHead, u64(of.sequence), u64(of.timeMs));
