/** The fields of records besides vector and time, by slot. */
import { Column } from '../kernel/column.js';
import { ExternalIds } from './externalIds.js';
import { KeptBytes } from './keptBytes.js';

export interface RecordFields {
  readonly tag: number;
  readonly metadata: Uint8Array | null;
  /** UTF-8. */
  readonly text: Uint8Array | null;
  /** UTF-8. */
  readonly externalId: Uint8Array | null;
}

/** A record without its text. */
export interface StoredRecord extends Omit<RecordFields, 'text'> {
  readonly id: number;
  /** Unix milliseconds; null: it does not expire. */
  readonly expiresAtMs: number | null;
  /** Little-endian Q16.16 components. */
  readonly vector: Uint8Array;
}

/** A record with a vector, as a snapshot stores it; the vector is at its slot. */
export interface RecordImage extends RecordFields {
  readonly slot: number;
  readonly isTombstoned: boolean;
  readonly insertedMs: number;
  readonly expiresAtMs: number | undefined;
}

export class KeptFields {
  readonly metadata = new KeptBytes();
  readonly texts = new KeptBytes();
  readonly externalIds = new ExternalIds();
  readonly #tags = new Column(0);

  of(slot: number): RecordFields {
    return {
      tag: this.tag(slot),
      metadata: this.metadata.get(slot),
      text: this.texts.get(slot),
      externalId: this.externalIds.get(slot),
    };
  }

  tag(slot: number): number {
    return this.#tags.get(slot);
  }

  /** Writes the fields of an empty slot. */
  put(slot: number, recordId: number, { tag, metadata, text, externalId }: RecordFields, isLive: boolean): void {
    this.#tags.set(slot, tag);
    if (metadata !== null) this.metadata.set(slot, metadata);
    if (text !== null) this.texts.set(slot, text);
    if (externalId !== null) this.externalIds.set(slot, recordId, externalId, isLive);
  }

  delete(slot: number): void {
    this.metadata.delete(slot);
    this.texts.delete(slot);
    this.externalIds.delete(slot);
  }
}
