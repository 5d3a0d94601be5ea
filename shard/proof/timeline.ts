/** A page of a collection's timeline, read from its log. */
import { unreachable } from '../../shared/errors/errors.js';
import { toHex } from '../../shared/hashing/hash.js';
import type { Event, Genesis } from '../../shared/log/event.js';
import { READ_AUDITS } from '../../shared/model/readAudit.js';
import type { ProofResults, TimelineCall, TimelineEvent } from '../../shared/protocol/proofs.js';
import type { Journal } from '../state/journal.js';

/** Most events that one page looks at for those of an actor: some 20 ms of work. */
const LOOKED_AT_MAX = 10_000;

/** Reads the frames of the page. `afterFrame` may throw to end it. */
export async function timelinePage(
  journal: Journal,
  { fromMs, toMs, after, limit, actor }: TimelineCall,
  afterFrame: () => void,
): Promise<ProofResults['timeline']> {
  const last = journal.sequenceAt(toMs);
  const first = journal.sequenceAt(fromMs - 1) + 1;
  const begin = Math.max(first, after + 1);
  const end = Math.min(last, begin + (actor === undefined ? limit : LOOKED_AT_MAX) - 1);
  const events: TimelineEvent[] = [];
  let next = begin;
  while (next <= end && events.length < limit) {
    const frame = await journal.frameWith(next);
    const from = next - frame.header.firstSequence;
    // Event 0, the genesis, is on no page.
    for (const event of frame.events.slice(from, from + end - next + 1) as Exclude<Event, Genesis>[]) {
      if (events.length === limit) break;
      next++;
      if (actor !== undefined && !isOf(event, actor)) continue;
      const { sequence, timeMs, type } = event;
      events.push({ sequence, timeMs, type, actor: event.actor, ...subjectOf(event) });
    }
    afterFrame();
  }
  const total = Math.max(last - first + 1, 0);
  return { events, total, ...(actor !== undefined && next <= last && { next: next - 1 }) };
}

const isOf = ({ actor }: Event, wanted: string): boolean => actor?.keyId === wanted || actor?.onBehalfOf === wanted;

/** Returns what the event is about. Bytes become text, so that the frame can be freed. */
function subjectOf(
  event: Exclude<Event, Genesis>,
): Pick<TimelineEvent, 'recordId' | 'nodeId' | 'edgeId' | 'keyId' | 'access'> {
  switch (event.type) {
    case 'insert':
    case 'replace':
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
      return { recordId: event.recordId };
    case 'insertEncrypted':
    case 'insertUnderKey':
    case 'replaceUnderKey':
    case 'updateUnderKey':
      return { recordId: event.recordId, keyId: toHex(event.keyId) };
    case 'shredKey':
      return { keyId: toHex(event.keyId) };
    case 'addNode':
      return { nodeId: event.nodeId, ...(event.recordId === null ? {} : { recordId: event.recordId }) };
    case 'deleteNode':
      return { nodeId: event.nodeId };
    case 'addEdge':
    case 'deleteEdge':
      return { edgeId: event.edgeId };
    case 'deleteMany':
      return {};
    case 'auditReads':
      return { access: { audit: READ_AUDITS[event.kind]!, retentionDays: event.retentionDays } };
    default:
      return unreachable(event);
  }
}
