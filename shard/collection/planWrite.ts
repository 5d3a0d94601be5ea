/** Plans one write of a commit. The state does not change until the commit, even while a plan rests. */
import { refusal } from '../../shared/errors/errors.js';
import { DELETED_MAX, PATCHED_MAX } from '../../shared/limits.js';
import { ACTOR_BYTES_MAX } from '../../shared/log/actorCodec.js';
import type { DeleteManyCall, PatchManyCall } from '../../shared/protocol/writes.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { patchIn } from '../metadata/metadataObject.js';
import type { CommitBuilder } from '../state/commitBuilder.js';
import type { Journal } from '../state/journal.js';
import { planBatch } from '../state/planBatch.js';
import { planDeletions } from '../state/planDeletions.js';
import type { QueuedCall, WriteAnswer } from '../state/plannedCalls.js';
import { planPatches } from '../state/planPatches.js';
import { recordsOf } from '../state/recordsOf.js';
import type { CollectionParts } from './logImport.js';
import { deletionsBytes, END_BYTES } from './writeQueue.js';

/** Throws VouchError if the write is refused. */
export async function planWrite(parts: CollectionParts, plan: CommitBuilder, call: QueuedCall): Promise<WriteAnswer> {
  switch (call.op) {
    case 'deleteMany':
      return planMatchingDeletions(parts, plan, call);
    case 'patchMany':
      return planMatchingPatches(parts, plan, call);
    case 'insertBatch':
      return planBatch(plan, call, new Slice(parts.context.clock));
    default:
      return plan.add(call);
  }
}

/** Returns the most deletions that fit a frame. */
export function deletionsMax({ eventBytesMax }: Journal): number {
  const bytes = eventBytesMax - END_BYTES - ACTOR_BYTES_MAX;
  return Math.min(DELETED_MAX, Math.floor(bytes / deletionsBytes(1)));
}

/** Plans deletions of exactly the records that match now. */
async function planMatchingDeletions(
  { journal, context }: CollectionParts,
  plan: CommitBuilder,
  { of, requestId = null, since }: DeleteManyCall,
): Promise<WriteAnswer> {
  const before = plan.deletedBefore(requestId);
  if (before !== undefined) return { kind: 'deletedBefore', sequence: before };
  const slice = new Slice(context.clock);
  const max = deletionsMax(journal);
  const recordIds = await recordsOf(plan, of, slice, (matching) => {
    if (matching > max) throw refusal('payload_too_large', 'deletion', { matching, max });
  });
  return planDeletions(plan, recordIds, { requestId, ...(since === undefined ? {} : { since }) }, slice);
}

/** Plans patches of exactly the records that match now. */
async function planMatchingPatches(
  { journal, context }: CollectionParts,
  plan: CommitBuilder,
  { of, patch, since }: PatchManyCall,
): Promise<WriteAnswer> {
  const slice = new Slice(context.clock);
  const recordIds = await recordsOf(plan, of, slice, (matching) => {
    if (matching > PATCHED_MAX) throw refusal('payload_too_large', 'patch', { matching, max: PATCHED_MAX });
  });
  const bytesMax = journal.eventBytesMax - ACTOR_BYTES_MAX;
  return planPatches(plan, recordIds, { patch: patchIn(patch), since, bytesMax }, slice);
}
