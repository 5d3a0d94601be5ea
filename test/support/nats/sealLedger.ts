/** The seals over each wrapped key, as the processes of a test made them: bytes from which a key of the vault can be recovered. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Entropy, systemEntropy } from '../../../shared/clock.js';
import { toHex } from '../../../shared/hashing/hash.js';
import { SEAL_BYTES } from '../../../shared/vault/seal.js';
import type { VaultEntry, VaultStore } from '../../../shared/vault/vaultStore.js';
import { type FoundBytes, findBytes } from '../findBytes.js';

export class SealLedger {
  /** Wrapped key, in hex → halves of its seals. */
  readonly #halves = new Map<string, Uint8Array[]>();
  readonly #writing = new AsyncLocalStorage<Uint8Array[]>();

  /** For `JetStreamVault.open`. */
  readonly entropy: Entropy = (length) => {
    const bytes = systemEntropy(length);
    if (length === SEAL_BYTES) this.#writing.getStore()?.push(bytes);
    return bytes;
  };

  /** Notes the seals that the vault makes from now on. */
  watched<T extends VaultStore>(vault: T): T {
    const create = vault.create.bind(vault);
    vault.create = (project, keyId, entry) => this.#noting(entry, () => create(project, keyId, entry));
    const replace = vault.replace.bind(vault);
    vault.replace = (stored, entry) => this.#noting(entry, () => replace(stored, entry));
    return vault;
  }

  halvesOf(wrapped: Uint8Array): readonly Uint8Array[] {
    return this.#halves.get(toHex(wrapped)) ?? [];
  }

  /** Places of the wrapped keys and of any half of their seals, by the name of the wrapped key. */
  async find(folder: string, wrapped: Readonly<Record<string, Uint8Array>>): Promise<readonly FoundBytes[]> {
    const named = Object.entries(wrapped).flatMap(([name, secret]) =>
      [secret, ...this.halvesOf(secret)].map((bytes) => ({ name, bytes })),
    );
    const found = await findBytes(folder, Object.fromEntries(named.map(({ bytes }, index) => [`${index}`, bytes])));
    return found.map(({ name, ...place }) => ({ ...place, name: named[Number(name)]!.name }));
  }

  #noting<T>({ wrapped }: VaultEntry, work: () => Promise<T>): Promise<T> {
    if (wrapped === null) return work();
    const key = toHex(wrapped);
    const halves = this.#halves.get(key) ?? [];
    this.#halves.set(key, halves);
    return this.#writing.run(halves, work);
  }
}
