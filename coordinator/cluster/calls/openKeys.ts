/**
 * The named keys that owners have open, as answered inserts show. An insert under another key may wait for the vault, even beyond
 * its deadline, so it travels alone. In a common message, the answers of the other calls would be lost with its own.
 */
import type { Call } from '../../../shared/protocol/calls.js';
import type { Members } from '../members/members.js';

/** Largest number of keys that are kept, about 150 bytes each. */
const KEPT_MAX = 10_000;

export class OpenKeys {
  /** Oldest first. */
  readonly #kept = new Set<string>();

  constructor(private readonly owners: Pick<Members, 'epochOf'>) {}

  /** Whether the owner may have to ask the vault for the key of an insert. */
  mayAwaitVault(collectionId: number, call: Call): boolean {
    const name = this.#nameOf(collectionId, call);
    return name !== undefined && !this.#kept.has(name);
  }

  /** The owner has carried out the call. */
  answered(collectionId: number, call: Call): void {
    const name = this.#nameOf(collectionId, call);
    if (name === undefined || this.#kept.has(name)) return;
    if (this.#kept.size === KEPT_MAX) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.add(name);
  }

  /** Another owner has other keys open. Undefined for a call without a named key. */
  #nameOf(collectionId: number, call: Call): string | undefined {
    if (call.op !== 'insert' || call.keyId === undefined || call.keyId === 'new') return undefined;
    return `${collectionId}.${this.owners.epochOf(collectionId)}.${call.keyId}`;
  }
}
