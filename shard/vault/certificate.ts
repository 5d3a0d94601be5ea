/**
 * The text of a certificate of erasure: lines of UTF-8, each ended by a line feed. The signature covers exactly these bytes.
 *
 * ```text
 * vouch erasure v1
 * <project>
 * <key id>
 * <unix milliseconds>                         time of the signature
 * <collection id> <hash of its statement>     each collection of the key's entry, by id; `deleted` for the hash of one that is gone
 * ```
 *
 * The signer has read the entry in the vault. The key is destroyed, and the log of each collection states it.
 */
import { refusal, unavailable } from '../../shared/errors/errors.js';
import type { KeyEntry, VaultCall } from '../../shared/protocol/calls.js';

const TITLE = 'vouch erasure v1';

type CertifyCall = Extract<VaultCall, { op: 'certifyErasure' }>;

/** Throws `conflict` while the shred is pending somewhere, and `unavailable` if the entry lists other collections. */
export function certificateText(
  { project, keyId, collections }: CertifyCall,
  entry: KeyEntry | 'damaged' | null,
  nowMs: number,
): string {
  if (entry === null || entry === 'damaged' || entry.status !== 'shredded' || entry.pendingIds.length > 0)
    throw refusal('conflict', 'notShredded', { key: keyId });
  const listed = collections.toSorted((one, other) => one.id - other.id);
  const ids = entry.collectionIds.toSorted((one, other) => one - other);
  if (ids.length !== listed.length || ids.some((id, i) => id !== listed[i]!.id))
    throw unavailable(`the collections of key ${keyId} have changed; repeat the request`);
  const lines = listed.map(({ id, statement }) => `${id} ${statement ?? 'deleted'}`);
  return [TITLE, project, keyId, nowMs, ...lines].map((line) => `${line}\n`).join('');
}
