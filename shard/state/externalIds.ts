/**
 * The ids that callers gave their records: of each slot, and the record of each one that is live. A string is held once. The
 * look-up is kept in parts, so that none of them takes long to grow.
 */
import { VouchError } from '../../shared/errors/errors.js';
import { EXTERNAL_ID_MAX_BYTES } from '../../shared/limits.js';
import { byteKey } from './byteKey.js';
import { KeptBytes } from './keptBytes.js';

const PARTS = 256;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export class ExternalIds {
  readonly #kept = new KeptBytes();
  /** External id, a character for each byte → record id. */
  readonly #live: (Map<string, number> | undefined)[] = [];

  /** Whether a record has one. */
  get isUsed(): boolean {
    return this.#kept.sizeBytes > 0;
  }

  get sizeBytes(): number {
    return this.#kept.sizeBytes;
  }

  get(slot: number): Uint8Array | null {
    return this.#kept.get(slot);
  }

  /** The live record that has it. */
  find(externalId: Uint8Array): number | undefined {
    const key = byteKey(externalId);
    return this.#live[partOf(key)]?.get(key);
  }

  /** Gives an id to the record at a slot. */
  set(slot: number, recordId: number, externalId: Uint8Array, isLive: boolean): void {
    this.#kept.set(slot, externalId);
    if (!isLive) return;
    const key = this.#kept.string(slot)!;
    const part = partOf(key);
    this.#live[part] ??= new Map();
    this.#live[part].set(key, recordId);
  }

  /** The record at the slot is not live any more: another one may get its id. */
  dies(slot: number): void {
    const key = this.#kept.string(slot);
    if (key !== undefined) this.#live[partOf(key)]?.delete(key);
  }

  delete(slot: number): void {
    this.#kept.delete(slot);
  }
}

/** Throws `validation_error`. */
export function utf8ExternalId(externalId: string): Uint8Array {
  const bytes = Buffer.from(externalId);
  if (bytes.length >= 1 && bytes.length <= EXTERNAL_ID_MAX_BYTES) return bytes;
  throw new VouchError('validation_error', `an external id has 1 to ${EXTERNAL_ID_MAX_BYTES} bytes`);
}

function partOf(key: string): number {
  let mixed = FNV_OFFSET;
  for (let i = 0; i < key.length; i++) mixed = Math.imul(mixed ^ key.charCodeAt(i), FNV_PRIME);
  return (mixed ^ (mixed >>> 16)) & (PARTS - 1);
}
