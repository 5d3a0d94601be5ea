/** Answers the calls of coordinators about entries of the vault. They receive neither a key nor its wrapped form. */
import type { Clock } from '../../shared/clock.js';
import { unreachable } from '../../shared/errors/errors.js';
import type { KeyEntry, ShardResults, VaultCall } from '../../shared/protocol/calls.js';
import type { Signer } from '../../shared/signing/signer.js';
import { orDamaged } from '../../shared/vault/entryName.js';
import { forget, strikeOff, type VaultEntry, type VaultStore } from '../../shared/vault/vaultStore.js';
import { certificateText } from './certificate.js';

type DestroyCall = Extract<VaultCall, { op: 'destroyKey' }>;

export class VaultCalls {
  constructor(
    private readonly vault: VaultStore,
    private readonly signer: Signer,
    private readonly clock: Clock,
  ) {}

  async run(call: VaultCall): Promise<ShardResults[VaultCall['op']]> {
    const { project, keyId } = call;
    switch (call.op) {
      case 'keyEntry':
        return { entry: await this.#find(project, keyId) };
      case 'destroyKey':
        return { isDone: (await this.#destroy(call)) !== undefined };
      case 'strikeOff':
        return { pendingIds: await strikeOff(this.vault, project, keyId, call.collectionIds) };
      case 'settleKey':
        await this.vault.settle(project, keyId);
        return null;
      case 'certifyErasure': {
        const text = certificateText(call, await this.#find(project, keyId), this.clock.nowMs());
        return { text, signature: this.signer.sign(text), publicKey: this.signer.publicKey };
      }
      default:
        return unreachable(call);
    }
  }

  async #find(project: string, keyId: string): Promise<KeyEntry | 'damaged' | null> {
    const stored = await this.vault.get(project, keyId).catch(orDamaged);
    if (stored === undefined || stored === 'damaged') return stored ?? null;
    forget(stored);
    const { status, collectionIds, pendingIds } = stored.entry;
    return { status, collectionIds, pendingIds, revision: stored.revision };
  }

  /** Destroys a key. Returns the new revision; undefined if the entry has changed. */
  #destroy({ project, keyId, entry: before, collectionIds }: DestroyCall): Promise<number | undefined> {
    const entry: VaultEntry = { status: 'shredded', wrapped: null, collectionIds, pendingIds: collectionIds };
    if (before === null) return this.vault.create(project, keyId, entry);
    if (before === 'damaged') return this.vault.replaceDamaged(project, keyId, entry);
    return this.vault.replace({ project, keyId, revision: before, entry }, entry);
  }
}
