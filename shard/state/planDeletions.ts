/** Plans the deletions of one request for one commit. */
import type { DeleteManyCall } from '../../shared/protocol/writes.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { CommitBuilder } from './commitBuilder.js';
import type { WriteAnswer } from './plannedCalls.js';

/**
 * Deletes the existing records, and reports the places of the others. If no record exists, the request id is not
 * stored.
 */
export async function planDeletions(
  plan: CommitBuilder,
  recordIds: Iterable<number | undefined>,
  { requestId = null, since }: Pick<DeleteManyCall, 'requestId' | 'since'>,
  slice: Slice,
): Promise<WriteAnswer> {
  const found = since === undefined ? recordIds : await unchanged(plan, recordIds, since, slice);
  const seen = new Set<number>();
  const absent: number[] = [];
  let place = 0;
  for (const recordId of found) {
    if (recordId === undefined || (!seen.has(recordId) && !plan.exists(recordId))) absent.push(place);
    else if (!seen.has(recordId)) {
      seen.add(recordId);
      plan.add({ op: 'delete', id: recordId });
    }
    place++;
    if (slice.step()) await slice.next();
  }
  const deleted = seen.size;
  if (deleted === 0) return { kind: 'deleted', deleted, missing: absent, sequence: null };
  const { sequence } = plan.events.at(-1)!;
  if (requestId !== null) plan.endDeletions({ type: 'deleteMany', requestId, deleted });
  return { kind: 'deleted', deleted, missing: absent, sequence };
}

/** Returns the ids. Throws `conflict` if one of the records has changed since that event. */
async function unchanged(
  plan: CommitBuilder,
  recordIds: Iterable<number | undefined>,
  since: number,
  slice: Slice,
): Promise<(number | undefined)[]> {
  plan.changes.assertLogged(since);
  const ids: (number | undefined)[] = [];
  for (const recordId of recordIds) {
    if (recordId !== undefined && plan.exists(recordId)) plan.changes.assertUnchanged(recordId, since);
    ids.push(recordId);
    if (slice.step()) await slice.next();
  }
  return ids;
}
