/** The part of a frame's plan that is about vault keys: what the state knows of them, and what the plan adds. */
import { VouchError } from '../../shared/errors.js';

/** What a plan must know of the encrypted records of a state. */
export interface EncryptedView {
  get(recordId: number): { readonly keyId: string; readonly isTombstoned: boolean } | undefined;
  isShredded(keyId: string): boolean;
  /** Records under the key that are not tombstoned. */
  standingUnder(keyId: string): number;
}

export class EncryptedPlan {
  /** Planned record id → key id. */
  readonly #inserted = new Map<number, string>();
  readonly #shredded = new Set<string>();
  /** Key id → how many more records stand under it than in the state. */
  readonly #standing = new Map<string, number>();

  constructor(private readonly state: EncryptedView) {}

  /** Throws `validation_error` where the key is shredded. */
  assertInsertable(keyId: string): void {
    if (this.isShredded(keyId)) throw shredded(keyId);
  }

  isShredded(keyId: string): boolean {
    return this.#shredded.has(keyId) || this.state.isShredded(keyId);
  }

  /** The key an encrypted record is under, whether or not it is there still; undefined where it has a vector. */
  keyOf(recordId: number): string | undefined {
    return this.#inserted.get(recordId) ?? this.state.get(recordId)?.keyId;
  }

  insert(recordId: number, keyId: string): void {
    this.#inserted.set(recordId, keyId);
    this.#count(keyId, 1);
  }

  /** The record is tombstoned or deleted, and the plan had done neither. Nothing where it has a vector. */
  gone(recordId: number): void {
    const keyId = this.keyOf(recordId);
    if (keyId !== undefined && this.state.get(recordId)?.isTombstoned !== true) this.#count(keyId, -1);
  }

  /** How many live records are lost with the key. */
  shred(keyId: string): number {
    this.#shredded.add(keyId);
    return this.state.standingUnder(keyId) + (this.#standing.get(keyId) ?? 0);
  }

  #count(keyId: string, by: number): void {
    this.#standing.set(keyId, (this.#standing.get(keyId) ?? 0) + by);
  }
}

export const shredded = (keyId: string): VouchError =>
  new VouchError('validation_error', `key ${keyId} is shredded; nothing can be encrypted under it any more`);
