/** A page of what happened to a collection, read from its log. */
import { unreachable } from '../../shared/errors.js';
import { toHex } from '../../shared/hash.js';
import type { Event, Genesis } from '../../shared/log/event.js';
import type { ProofResults, TimelineCall, TimelineEvent } from '../../shared/proofs.js';
import type { Journal } from '../collection/journal.js';

/** Reads the frames that the page lies in: `afterFrame` may end it by throwing. */
export async function timelinePage(
  journal: Journal,
  { fromMs, toMs, after, limit }: TimelineCall,
  afterFrame: () => void,
): Promise<ProofResults['timeline']> {
  const last = journal.sequenceAt(toMs);
  const first = journal.sequenceAt(fromMs - 1) + 1;
  const begin = Math.max(first, after + 1);
  const end = Math.min(last, begin + limit - 1);
  const events: TimelineEvent[] = [];
  for (let next = begin; next <= end; ) {
    const frame = await journal.frameWith(next);
    const from = next - frame.header.firstSequence;
    const page = frame.events.slice(from, from + end - next + 1);
    // The genesis is event 0, and no page begins there.
    for (const event of page) events.push(shown(event as Exclude<Event, Genesis>));
    next += page.length;
    afterFrame();
  }
  return { events, total: Math.max(last - first + 1, 0) };
}

function shown(event: Exclude<Event, Genesis>): TimelineEvent {
  const { sequence, timeMs, type } = event;
  return { sequence, timeMs, type, ...subjectOf(event) };
}

/** What the event is about. Views of the frame are told as text, so that it can go. */
function subjectOf(event: Exclude<Event, Genesis>): Pick<TimelineEvent, 'recordId' | 'nodeId' | 'edgeId' | 'keyId'> {
  switch (event.type) {
    case 'insert':
    case 'softDelete':
    case 'delete':
    case 'updateMetadata':
      return { recordId: event.recordId };
    case 'insertEncrypted':
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
    default:
      return unreachable(event);
  }
}
