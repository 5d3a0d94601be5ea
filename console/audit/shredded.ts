/** Finds the destroyed keys among those of the records on a page of events. */
import type { KeyStatusResponse } from '../../coordinator/contract/encrypted.js';
import type { TimelineEvent } from '../../coordinator/contract/proofs.js';
import type { GetRecordsResponse } from '../../coordinator/contract/records.js';
import { pathOf, type Service } from '../service.js';

const UNDER_KEY: readonly TimelineEvent['event_type'][] = [
  ...(['insert_encrypted', 'insert_under_key', 'replace_under_key', 'update_under_key'] as const),
];

/**
 * A record that exists has its key, so only the keys of the others are requested, one after another. If the service refuses a
 * request, for example above the rate limit, the other keys stay unknown.
 */
export async function shreddedKeys(
  service: Service,
  collection: string,
  events: readonly TimelineEvent[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const shredded = new Set<string>();
  for (const { event_type: type, key_id: key } of events)
    if (type === 'shred_key' && key !== undefined) shredded.add(key);
  const keys = new Map<number, string>();
  for (const { event_type: type, record_id: record, key_id: key } of events)
    if (UNDER_KEY.includes(type) && record !== undefined && key !== undefined && !shredded.has(key))
      keys.set(record, key);
  if (keys.size === 0) return shredded;
  try {
    const asked = { collection, ids: [...keys.keys()] };
    const { missing } = await service.call<GetRecordsResponse>('POST', '/v1/records/get', asked, signal);
    for (const key of new Set(missing.map((record) => keys.get(Number(record))!))) {
      const path = pathOf(`/v1/crypto/status/${key}`, {});
      const { status } = await service.call<KeyStatusResponse>('GET', path, undefined, signal);
      if (status === 'shredded') shredded.add(key);
    }
  } catch {
    return shredded;
  }
  return shredded;
}
