import { PagedList } from '../kernel/pagedList.js';

/** Bytes by slot, kept as strings of as many characters: for few bytes, a third of the memory of a Uint8Array. */
export class KeptBytes {
  readonly #kept = new PagedList<string>();
  /** The length of all of them. */
  sizeBytes = 0;

  has(slot: number): boolean {
    return this.#kept.get(slot) !== undefined;
  }

  get(slot: number): Uint8Array | null {
    const bytes = this.#kept.get(slot);
    return bytes === undefined ? null : Buffer.from(bytes, 'latin1');
  }

  /** As it is kept: a character for each byte. */
  string(slot: number): string | undefined {
    return this.#kept.get(slot);
  }

  sizeAt(slot: number): number {
    return this.#kept.get(slot)?.length ?? 0;
  }

  set(slot: number, bytes: Uint8Array): void {
    this.sizeBytes += bytes.length - this.sizeAt(slot);
    this.#kept.set(slot, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'));
  }

  delete(slot: number): void {
    this.sizeBytes -= this.sizeAt(slot);
    this.#kept.delete(slot);
  }
}
