/** Refusals of writes, and the room that a project's quotas leave to a collection. */
import { refusal, unavailable, VouchError } from '../../shared/errors/errors.js';
import type { Amount } from '../../shared/model/quotas.js';
import type { RecordName } from '../../shared/model/recordName.js';
import type { EncryptedRecords } from './encryptedRecords.js';

/** Room for additions to a collection. */
export interface Room extends Amount {
  /** Quotas of the project. */
  readonly limits: Amount;
  /** False if a shard that may have unused capacity did not reply. */
  readonly isFinal: boolean;
}

/** Throws `capacity_exceeded` if an addition does not fit a quota, or `unavailable` if that is not known. */
export function assertRoom(room: Room, brings: Amount): void {
  for (const kind of ['records', 'bytes'] as const) {
    // The room is negative if the quota was lowered below the use.
    if (brings[kind] === 0 || brings[kind] <= room[kind]) continue;
    if (!room.isFinal) throw unavailable('a shard did not say how much of the quota it uses; retry shortly');
    const limit = room.limits[kind];
    throw refusal('capacity_exceeded', 'quota', { kind, used: limit - room[kind], limit, added: brings[kind] });
  }
}

export const missing = (recordId: number): VouchError => refusal('record_not_found', 'record', { record: recordId });

export const missingNamed = (name: RecordName): VouchError =>
  typeof name === 'number'
    ? missing(name)
    : refusal('record_not_found', 'external', { external: JSON.stringify(name) });

export const shredded = (keyId: string): VouchError => refusal('validation_error', 'shreddedKey', { key: keyId });

/** Why a record that is not readable cannot be read. */
export function unreadable({ encrypted }: { readonly encrypted: EncryptedRecords }, recordId: number): VouchError {
  const record = encrypted.get(recordId);
  if (record?.content !== 'lost' || record.isTombstoned) return missing(recordId);
  const { keyId } = record;
  if (encrypted.isShredded(keyId)) return refusal('record_shredded', 'key', { key: keyId });
  return new VouchError('internal_error', `record ${recordId} is under key ${keyId}, which the vault does not have`);
}
