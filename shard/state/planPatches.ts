/** Plans the merge patches of one request for one commit. */
import { refusal } from '../../shared/errors/errors.js';
import { BESIDE_EVENT_BYTES, updateMetadataSizeBytes } from '../../shared/log/eventLayout.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { MetadataObject } from '../metadata/metadataObject.js';
import type { CommitBuilder, MetadataChange } from './commitBuilder.js';
import type { WriteAnswer } from './plannedCalls.js';

export interface Patches {
  readonly patch: MetadataObject;
  /** Most bytes of the events. */
  readonly bytesMax: number;
  /** See `Guarded`. */
  readonly since?: number | undefined;
}

/**
 * Patches the metadata of the live records, all or none, and reports the places of the others. Throws `payload_too_large` if the
 * events take more than `bytesMax`.
 */
export async function planPatches(
  plan: CommitBuilder,
  recordIds: Iterable<number | undefined>,
  { patch, since, bytesMax }: Patches,
  slice: Slice,
): Promise<WriteAnswer> {
  if (since !== undefined) plan.changes.assertLogged(since);
  const changes = new Map<number, MetadataChange>();
  const absent: number[] = [];
  let place = 0;
  let bytes = 0;
  for (const recordId of recordIds) {
    if (recordId === undefined || !plan.isLive(recordId)) absent.push(place);
    else if (!changes.has(recordId)) {
      plan.changes.assertUnchanged(recordId, since);
      const change = plan.patched(recordId, patch);
      changes.set(recordId, change);
      bytes += BESIDE_EVENT_BYTES + updateMetadataSizeBytes(change.metadata.length);
      if (bytes > bytesMax) throw refusal('payload_too_large', 'patches', { max: bytesMax });
    }
    place++;
    if (slice.due) await slice.next();
  }
  const sequence = plan.changeMetadata([...changes.values()]);
  return { kind: 'patched', updated: changes.size, missing: absent, sequence };
}
