/** Makes a simulated history ready for the soak's checker, which knows clusters. */
import { unreachable } from '../../shared/errors/errors.js';
import type { CollectionLog, LoggedEvent } from '../soak/checker/log.js';
import type { IndexAnswer } from '../soak/history/indexes.js';
import { type Call, isWrite, type WriteCall } from '../soak/history.js';

/**
 * Answers of a standalone node tell no log index. Most of its writes are told apart all the same: by the id that the answer
 * names, or since a thing can be deleted only once. Each such answer gets the sequence of its event in the log; where there
 * is none it is left without, which the checker takes for a write that is lost.
 */
export function withSequences(calls: readonly Call[], logs: readonly CollectionLog[]): Call[] {
  const places = new Map(logs.map((log) => [log.collection, placesOf(log)]));
  return calls.map((call) => {
    if (!isWrite(call) || call.outcome.kind !== 'ok' || call.op === 'insert' || call.op === 'insertBatch') return call;
    const deed = deedOf(call);
    const sequence = deed === undefined ? undefined : places.get(call.collection)?.get(deed);
    if (sequence === undefined) return call;
    return { ...call, outcome: { kind: 'ok', answer: { ...call.outcome.answer, sequence } } } as Call;
  });
}

/** A disk that is full may refuse whatever takes room, and with one that fails a build of an index may fail. */
export const withoutDiskErrors = (calls: readonly Call[]): Call[] =>
  calls.map((call) => {
    if (!isDiskError(call)) return call;
    // What was configured may hold, although the answer tells of a disk.
    const kind = call.op === 'configureIndex' && !isForLackOfRoom(call) ? 'unknown' : 'busy';
    return { ...call, outcome: { kind } } as Call;
  });

/** A saved index whose bits have rotted is told of while another is built. */
export const withoutRot = (calls: readonly Call[]): Call[] =>
  calls.map((call) => {
    if (!ROTTED.test(toldError(call))) return call;
    return { ...call, outcome: { kind: call.op === 'configureIndex' ? 'unknown' : 'busy' } } as Call;
  });

const ROTTED = /^the saved index \d+ was set aside/;

/** Of a build, which was answered; or empty. */
function toldError({ op, outcome }: Call): string {
  if ((op !== 'indexState' && op !== 'configureIndex') || outcome.kind !== 'ok') return '';
  return (outcome.answer as IndexAnswer).error ?? '';
}

const isForLackOfRoom = ({ outcome }: Call): boolean => outcome.kind === 'refused' && outcome.why.startsWith('507');

function isDiskError(call: Call): boolean {
  const { op, outcome } = call;
  if (outcome.kind === 'refused')
    return isForLackOfRoom(call) || (op === 'configureIndex' && outcome.why.startsWith('500'));
  return /^(?:ENOSPC|EIO)|\((?:ENOSPC|EIO)\)$/.test(toldError(call));
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
      return undefined;
    default:
      return unreachable(event);
  }
}
