/** Plans a batch of inserts or of upserts for one commit. */
import type { InsertBatchCall } from '../../shared/protocol/writes.js';
import type { Slice } from '../../shared/scheduling/slice.js';
import type { CommitBuilder, NewRecord } from './commitBuilder.js';
import type { AppliedRequest } from './dedupWindow.js';
import { assertBatchShape, assertContent } from './eventLimits.js';
import { expiryAt } from './expiryAt.js';
import { utf8ExternalId } from './externalIds.js';
import type { WriteAnswer } from './plannedCalls.js';
import { keyOf } from './plannedRequests.js';

/** Whether to look at the clock before planning this record of a batch. */
const isLook = (record: number): boolean => record % 32 === 0;

/** Inserts or replaces all records of the batch, or none if the batch is refused. */
export async function planBatch(plan: CommitBuilder, call: InsertBatchCall, slice: Slice): Promise<WriteAnswer> {
  assertBatchShape(call, plan.limits);
  const vectorBytes = 4 * plan.state.dimension;
  if (call.vectors.length !== call.count * vectorBytes) plan.assertDimension(-1);
  const keys = (call.requestIds ?? []).map(keyOf);
  const replayed = plan.requests.replayed(keys);
  const records: NewRecord[] = [];
  let brings = 0;
  let fresh = 0;
  for (let i = 0; i < call.count; i++) {
    if (isLook(i) && slice.due) await slice.next();
    const metadata = call.metadata?.[i] ?? null;
    const text = call.texts?.[i] ?? null;
    const given = call.expiresAtMs?.[i];
    const what = metadata === null && text === null && given == null ? '' : `item ${i} of the batch: `;
    const externalId = call.externalIds === undefined ? null : utf8ExternalId(call.externalIds[i]!);
    const expiresAtMs = replayed.has(i) ? undefined : expiryAt(plan.timeMs, given, call.ttlMs, what);
    assertContent({ metadata, text }, plan.limits, what);
    const holder = externalId === null ? undefined : plan.records.liveUnder(externalId);
    const kept = holder === undefined ? undefined : plan.records.keyOf(holder);
    // Fields are listed, since a spread takes five times the memory.
    const keyed: NewRecord = {
      vector: call.vectors.subarray(i * vectorBytes, (i + 1) * vectorBytes),
      tag: call.tags?.[i] ?? 0,
      requestId: call.requestIds?.[i] ?? null,
      metadata,
      text,
      externalId,
      expiresAtMs,
      keyId: call.keyIds?.[i] ?? kept ?? null,
    };
    records.push(keyed);
    if (replayed.has(i)) continue;
    brings += plan.bytesOf(keyed);
    if (externalId !== null) plan.changes.assertHolder(holder, externalId, call.since);
    if (holder === undefined) fresh++;
  }
  plan.assertRoom(fresh, brings);
  const before = plan.events.length;
  const ids = new Float64Array(call.count);
  let created = 0;
  for (const [i, record] of records.entries()) {
    if (isLook(i) && slice.due) await slice.next();
    const { recordId, sequence } = plan.requests.write(keys[i]) ?? upsert(plan, record, keys[i]);
    ids[i] = recordId;
    if (isInsert(plan, recordId, sequence)) created++;
  }
  return { kind: 'batch', ids, created, isReplay: plan.events.length === before };
}

function upsert(plan: CommitBuilder, record: NewRecord, key: string | undefined): AppliedRequest {
  const { externalId } = record;
  const replaced = externalId === null ? undefined : plan.records.liveUnder(externalId);
  return replaced === undefined
    ? plan.append(record, key)
    : plan.replace(replaced, { ...record, externalId: externalId! }, key);
}

/** Whether the event, planned or applied, inserts the record. */
function isInsert(plan: CommitBuilder, recordId: number, sequence: number): boolean {
  const planned = plan.events[sequence - plan.start.sequence];
  if (planned === undefined) return plan.state.versions.isBornBy(recordId, sequence);
  return planned.type === 'insert' || planned.type === 'insertUnderKey';
}
