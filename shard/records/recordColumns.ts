import type { Field, ListedRecords, RecordFields } from '../../shared/protocol/records.js';
import type { CollectionState } from '../state/collectionState.js';

/** Bytes in a message of a record's id, tag and the heads of its fields. */
const RECORD_BYTES = 32;

/** Gathers records and their fields into the columns of a message: the only place where fields are read. */
export class RecordColumns {
  readonly #ids: number[] = [];
  readonly #tags: number[] = [];
  readonly #metadata: (Uint8Array | null)[] | undefined;
  readonly #texts: (Uint8Array | null)[] | undefined;
  readonly #vectors: Uint8Array[] | undefined;
  readonly #changedBy: number[] | undefined;
  readonly #externalIds: (string | null)[] | undefined;
  readonly #expiresAt: number[] | undefined;
  readonly #keyIds: (string | null)[] | undefined;
  #bytes = 0;

  constructor(
    private readonly state: CollectionState,
    fields: readonly Field[],
  ) {
    this.#metadata = fields.includes('metadata') ? [] : undefined;
    this.#texts = fields.includes('text') ? [] : undefined;
    this.#vectors = fields.includes('vector') ? [] : undefined;
    this.#changedBy = fields.includes('log_index') ? [] : undefined;
    this.#externalIds = state.externalIds.isUsed ? [] : undefined;
    this.#expiresAt = state.expiries.size > 0 ? [] : undefined;
    this.#keyIds = state.encrypted.hasContents ? [] : undefined;
  }

  get count(): number {
    return this.#ids.length;
  }

  /** Approximate bytes in a message. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds a live or tombstoned record. An encrypted one has zeros for a vector, and no metadata and text. */
  add(recordId: number): void {
    const { state } = this;
    const slot = state.keptSlotOf(recordId);
    this.#ids.push(recordId);
    this.#tags.push(slot === undefined ? state.encrypted.get(recordId)!.tag : state.tagAt(slot));
    this.#bytes += RECORD_BYTES;
    if (this.#metadata !== undefined) this.#put(this.#metadata, slot === undefined ? null : state.metadataAt(slot));
    if (this.#texts !== undefined) this.#put(this.#texts, slot === undefined ? null : state.textAt(slot));
    if (this.#vectors !== undefined)
      this.#put(
        this.#vectors,
        slot === undefined ? new Uint8Array(4 * state.dimension) : state.vectors.vectorBytes(slot),
      );
    this.#changedBy?.push(state.changedBy(recordId));
    const externalId = this.#externalIds && state.externalIdOf(recordId);
    this.#externalIds?.push(externalId ?? null);
    this.#bytes += externalId?.length ?? 0;
    this.#expiresAt?.push(state.expiries.of(recordId) ?? 0);
    this.#keyIds?.push(slot === undefined ? null : (state.encrypted.get(recordId)?.keyId ?? null));
  }

  listed(): ListedRecords {
    const expiresAt = this.#expiresAt && { expiresAt: bytesOf(this.#expiresAt) };
    const keyIds = this.#keyIds && { keyIds: this.#keyIds };
    return {
      ids: bytesOf(this.#ids),
      tags: bytesOf(this.#tags),
      fields: { ...this.fields(), ...expiresAt, ...keyIds },
    };
  }

  fields(): RecordFields {
    return {
      ...(this.#metadata === undefined ? {} : { metadata: this.#metadata }),
      ...(this.#texts === undefined ? {} : { texts: this.#texts }),
      ...(this.#vectors === undefined ? {} : { vectors: this.#vectors }),
      ...(this.#changedBy === undefined ? {} : { changedBy: bytesOf(this.#changedBy) }),
      ...(this.#externalIds === undefined ? {} : { externalIds: this.#externalIds }),
    };
  }

  #put<Value extends Uint8Array | null>(column: Value[], value: Value): void {
    column.push(value);
    this.#bytes += value?.length ?? 0;
  }
}

/** Returns the numbers as little-endian float64 bytes. */
const bytesOf = (numbers: readonly number[]): Uint8Array => new Uint8Array(Float64Array.from(numbers).buffer);
