/** Small byte strings by slot. V8 stores a string of one byte per character, which costs less than a typed array. */
import { PagedList } from '../kernel/pagedList.js';
import { byteKey } from './byteKey.js';

/**
 * Bytes by slot, stored as strings with a character per byte. Few bytes then take a third of the memory of a
 * Uint8Array.
 */
export class KeptBytes {
  readonly #kept = new PagedList<string>();
  /** Total length. */
  sizeBytes = 0;

  has(slot: number): boolean {
    return this.#kept.get(slot) !== undefined;
  }

  get(slot: number): Uint8Array | null {
    const bytes = this.#kept.get(slot);
    return bytes === undefined ? null : Buffer.from(bytes, 'latin1');
  }

  /** Returns the stored string: a character per byte. */
  string(slot: number): string | undefined {
    return this.#kept.get(slot);
  }

  sizeAt(slot: number): number {
    return this.#kept.get(slot)?.length ?? 0;
  }

  set(slot: number, bytes: Uint8Array): void {
    this.sizeBytes += bytes.length - this.sizeAt(slot);
    this.#kept.set(slot, byteKey(bytes));
  }

  delete(slot: number): void {
    this.sizeBytes -= this.sizeAt(slot);
    this.#kept.delete(slot);
  }
}
