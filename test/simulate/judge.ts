/** Converts a simulated history for the soak's checker, which expects a cluster. */
import { unreachable } from '../../shared/errors/errors.js';
import type { CollectionLog, LoggedEvent } from '../soak/checker/log.js';
import type { IndexAnswer } from '../soak/history/indexes.js';
import { type Call, isWrite, type WriteCall } from '../soak/history.js';

/**
 * Adds log sequences to the answers of a standalone node, which have none. Most writes identify their event: by the id
 * in the answer, or because a thing can be deleted only once. An answer without an event stays without a sequence; the
 * checker reports such a write as lost.
 */
export function withSequences(calls: readonly Call[], logs: readonly CollectionLog[]): Call[] {
  const places = new Map(logs.map((log) => [log.collection, placesOf(log)]));
  return calls.map((call) => {
    if (!isWrite(call) || call.outcome.kind !== 'ok' || isWithoutSequence(call)) return call;
    const deed = deedOf(call);
    const sequence = deed === undefined ? undefined : places.get(call.collection)?.get(deed);
    if (sequence === undefined) return call;
    return { ...call, outcome: { kind: 'ok', answer: { ...call.outcome.answer, sequence } } } as Call;
  });
}

/** The answer of an insert has its sequence in the receipt, and other answers name no event. */
const isWithoutSequence = ({ op }: WriteCall): boolean => op === 'insert' || op === 'insertBatch' || op === 'mergeMany';

/** A full disk may refuse whatever takes room; on a failing disk, an index build may fail. */
export const withoutDiskErrors = (calls: readonly Call[]): Call[] =>
  calls.map((call) => {
    if (!isDiskError(call)) return call;
    // The configuration may have been stored although the answer names a disk error.
    const kind = call.op === 'configureIndex' && !isForLackOfRoom(call) ? 'unknown' : 'busy';
    return { ...call, outcome: { kind } } as Call;
  });

/** A saved index with rotted bits is reported while another one is built. */
export const withoutRot = (calls: readonly Call[]): Call[] =>
  calls.map((call) => {
    if (!ROTTED.test(buildError(call))) return call;
    return { ...call, outcome: { kind: call.op === 'configureIndex' ? 'unknown' : 'busy' } } as Call;
  });

const ROTTED = /^the saved index \d+ was set aside/;

/** Error text of an answered build; empty without an error. */
function buildError({ op, outcome }: Call): string {
  if ((op !== 'indexState' && op !== 'configureIndex') || outcome.kind !== 'ok') return '';
  return (outcome.answer as IndexAnswer).error ?? '';
}

const isForLackOfRoom = ({ outcome }: Call): boolean => outcome.kind === 'refused' && outcome.why.startsWith('507');

function isDiskError(call: Call): boolean {
  const { op, outcome } = call;
  if (outcome.kind === 'refused')
    return isForLackOfRoom(call) || (op === 'configureIndex' && outcome.why.startsWith('500'));
  return /^(?:ENOSPC|EIO)|\((?:ENOSPC|EIO)\)$/.test(buildError(call));
}

function placesOf({ entries }: CollectionLog): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [i, { event }] of entries.entries()) {
    const deed = deedOfEvent(event);
    if (deed !== undefined && !places.has(deed)) places.set(deed, i + 1);
  }
  return places;
}

function deedOf(call: WriteCall): string | undefined {
  if (call.outcome.kind !== 'ok') return undefined;
  const { answer } = call.outcome;
  switch (call.op) {
    case 'softDelete':
    case 'delete':
    case 'deleteNode':
    case 'deleteEdge':
      return `${call.op} ${call.id}`;
    case 'addNode':
      return 'nodeId' in answer ? `addNode ${answer.nodeId}` : undefined;
    case 'addEdge':
      return 'edgeId' in answer ? `addEdge ${answer.edgeId}` : undefined;
    case 'updateMetadata':
      return `updateMetadata ${call.metadata.mark}`;
    case 'mergeMetadata':
      return `updateMetadata ${call.merge.mark}`;
    default:
      return undefined;
  }
}

function deedOfEvent(event: LoggedEvent): string | undefined {
  switch (event.type) {
    case 'softDelete':
    case 'delete':
      return `${event.type} ${event.recordId}`;
    case 'addNode':
    case 'deleteNode':
      return `${event.type} ${event.nodeId}`;
    case 'addEdge':
    case 'deleteEdge':
      return `${event.type} ${event.edgeId}`;
    case 'updateMetadata':
      return `updateMetadata ${event.metadata.mark}`;
    case 'insert':
    case 'insertEncrypted':
    case 'shredKey':
    case 'expire':
    case 'auditReads':
      return undefined;
    default:
      return unreachable(event);
  }
}
