/** Plans the merge patches of one request for one commit. */
import { refusal } from '../../shared/errors/errors.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { MetadataObject } from '../metadata/metadataObject.js';
import type { CommitBuilder } from './commitBuilder.js';
import type { WriteAnswer } from './plannedCalls.js';
import { growthOf, type MetadataChange } from './plannedChanges.js';

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
  let growth = 0;
  for (const recordId of recordIds) {
    if (recordId === undefined || !plan.isLive(recordId)) absent.push(place);
    else if (!changes.has(recordId)) {
      plan.changes.assertUnchanged(recordId, since);
      const change = plan.patched(recordId, patch);
      changes.set(recordId, change);
      growth += growthOf(change);
      bytes += change.eventBytes;
      if (bytes > bytesMax) throw refusal('payload_too_large', 'patches', { max: bytesMax });
    }
    place++;
    if (slice.due) await slice.next();
  }
  plan.assertRoomToGrow(growth);
  let sequence: number | null = null;
  for (const change of changes.values()) {
    sequence = plan.changeMetadata(change);
    if (slice.step()) await slice.next();
  }
  return { kind: 'patched', updated: changes.size, missing: absent, sequence };
}
