/**
 * The ids that callers gave their records: the id of each slot, and the live record of each id. Each string is stored
 * once. The look-up has several parts, so that no part takes long to grow.
 */
import { VouchError } from '../../shared/errors/errors.js';
import { EXTERNAL_ID_MAX_BYTES } from '../../shared/limits.js';
import type { RecordName } from '../../shared/model/recordName.js';
import { byteKey } from './byteKey.js';
import { KeptBytes } from './keptBytes.js';

const PARTS = 256;
const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

export class ExternalIds {
  readonly #kept = new KeptBytes();
  /** External id, one character per byte → record id. */
  readonly #live: (Map<string, number> | undefined)[] = [];

  /** Whether a record has an external id. */
  get isUsed(): boolean {
    return this.#kept.sizeBytes > 0;
  }

  get sizeBytes(): number {
    return this.#kept.sizeBytes;
  }

  get(slot: number): Uint8Array | null {
    return this.#kept.get(slot);
  }

  /** Returns the live record with the external id. */
  find(externalId: Uint8Array): number | undefined {
    const key = byteKey(externalId);
    return this.#live[partOf(key)]?.get(key);
  }

  /** Returns the id of the named record; undefined if no live record has the external id. */
  named(name: RecordName): number | undefined {
    return typeof name === 'number' ? name : this.find(Buffer.from(name));
  }

  /** Sets the external id of the record at a slot. */
  set(slot: number, recordId: number, externalId: Uint8Array, isLive: boolean): void {
    this.#kept.set(slot, externalId);
    if (!isLive) return;
    const key = this.#kept.string(slot)!;
    const part = partOf(key);
    this.#live[part] ??= new Map();
    this.#live[part].set(key, recordId);
  }

  /** Records that the record at the slot is no longer live, so that another may get its id. */
  dies(slot: number): void {
    const key = this.#kept.string(slot);
    if (key !== undefined) this.#live[partOf(key)]?.delete(key);
  }

  delete(slot: number): void {
    this.#kept.delete(slot);
  }
}

/** Returns the UTF-8 bytes. Throws `validation_error` if they are too few or too many. */
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
