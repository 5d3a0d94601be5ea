/** Plans writes as another log states them. */
import { VouchError } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import { type Event, type EventUnderKey, type Insert, isUnderKey, type Replace } from '../../shared/log/event.js';
import type { CommitBuilder } from './commitBuilder.js';
import { assertContent } from './eventLimits.js';
import { addedBytes } from './growth.js';
import type { StatedInsert, StatedReplace, WriteAnswer } from './plannedCalls.js';
import { recordBytes } from './plannedContents.js';
import { missing } from './refusals.js';

/** An event with the content of a record. */
export type StatedEvent = Insert | Replace | EventUnderKey;

export const isStated = (event: Event): event is StatedEvent =>
  event.type === 'insert' || event.type === 'replace' || isUnderKey(event);

/** Throws VouchError if the write cannot follow the earlier ones. */
export const planStated = (plan: CommitBuilder, event: StatedEvent): WriteAnswer =>
  isUnderKey(event) ? planUnderKey(plan, event) : planPlain(plan, event);

function planPlain(plan: CommitBuilder, stated: StatedInsert | StatedReplace): WriteAnswer {
  const { externalId } = stated;
  plan.assertDimension(stated.vector.length);
  assertContent(stated, plan.limits);
  const holder = externalId === null ? undefined : plan.records.liveUnder(externalId);
  if (stated.type === 'replace') {
    if (holder !== stated.recordId)
      throw new VouchError('validation_error', `record ${stated.recordId} is not stored under this external id`);
    if (plan.records.keyOf(holder) !== undefined)
      throw new VouchError('validation_error', `record ${holder} is under a key, and its new content is not`);
    plan.assertRoom(0, recordBytes(stated, false));
    const replaced = plan.replace(holder, { ...stated, keyId: null }, undefined);
    return { kind: 'insert', write: replaced, deduplicated: false };
  }
  if (holder !== undefined)
    throw new VouchError('validation_error', `live record ${holder} already has this external id`);
  plan.assertRoom(1, recordBytes(stated, false));
  return { kind: 'insert', write: plan.append({ ...stated, keyId: null }, undefined), deduplicated: false };
}

/** Plans an event of a log again. Its content may be lost. */
function planUnderKey(plan: CommitBuilder, stated: EventUnderKey): WriteAnswer {
  const { content, requestId } = stated;
  const keyId = toHex(stated.keyId);
  plan.records.assertNotShredded(keyId);
  if (content !== null) plan.assertDimension(content.vector.length);
  if (content !== null) assertContent(content, plan.limits);
  plan.assertRoom(stated.type === 'insertUnderKey' ? 1 : 0, addedBytes(stated));
  const isNew = stated.type === 'insertUnderKey';
  const recordId = isNew ? plan.records.addUnderKey(keyId, content?.externalId) : stated.recordId;
  if (!isNew && (!plan.records.isLive(recordId) || plan.records.isPayload(recordId))) throw missing(recordId);
  if (stated.type === 'updateUnderKey' && plan.records.keyOf(recordId) !== keyId)
    throw new VouchError('validation_error', `record ${recordId} is under another key`);
  if (!isNew) plan.records.move(recordId, keyId);
  return plan.push({ ...stated, ...plan.dated(), recordId, requestId });
}
