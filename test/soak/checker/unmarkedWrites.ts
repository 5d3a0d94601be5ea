/**
 * Writes whose event shows only what was done. The cause of one is known only if an answer named its sequence;
 * otherwise it is any of several equal calls.
 */
import { unreachable } from '../../../shared/errors/errors.js';
import type { AddEdgeCall, AddNodeCall, UnlinkCall } from '../history/graph.js';
import type { RemoveCall } from '../history/records.js';
import type { ShredCall } from '../history/secrets.js';
import type { Candidates, Violate } from './candidates.js';
import type { CollectionLog, LoggedEvent } from './log.js';
import { describeEvent, entryAt } from './log.js';

export type UnmarkedCall = RemoveCall | AddNodeCall | AddEdgeCall | UnlinkCall;
type OtherEvent = 'insert' | 'insertEncrypted' | 'updateMetadata' | 'auditReads';
export type UnmarkedEvent = Exclude<LoggedEvent, { readonly type: OtherEvent }>;

interface Same {
  readonly calls: UnmarkedCall[];
  /** Number of events that no answer named. */
  unnamed: number;
}

export class UnmarkedWrites {
  readonly #same = new Map<string, Same>();
  readonly #shreds = new Map<string, ShredCall[]>();

  constructor(
    private readonly log: CollectionLog,
    private readonly violate: Violate,
  ) {}

  add(call: UnmarkedCall): void {
    const deed = deedOfCall(call);
    const same = this.#same.get(deed);
    if (same === undefined) this.#same.set(deed, { calls: [call], unnamed: 0 });
    else same.calls.push(call);
  }

  /** The shred may have caused an event here, or none. */
  addShred(call: ShredCall): void {
    const calls = this.#shreds.get(call.keyId);
    if (calls === undefined) this.#shreds.set(call.keyId, [call]);
    else calls.push(call);
  }

  /** Calls that may have caused the event. */
  match(event: UnmarkedEvent, sequence: number): Candidates {
    if (event.type === 'shredKey') return this.#shreds.get(event.keyId) ?? [];
    const same = this.#same.get(deedOfEvent(event));
    if (same === undefined) return [];
    const { calls } = same;
    const named = calls.filter(({ outcome }) => outcome.kind === 'ok' && outcome.answer.sequence === sequence);
    if (named.length > 1) this.violate('doubled write', `${named.length} answers name event ${sequence}`, ...named);
    if (named.length > 0) return named;
    const open = calls.filter(({ outcome }) => outcome.kind === 'unknown');
    if (same.unnamed++ < open.length) return open;
    const answered = calls.filter(({ outcome }) => outcome.kind === 'ok');
    if (open.length + answered.length === 0) return calls;
    const what = `event ${sequence} is ${describeEvent(event)}, once more than requested`;
    this.violate('doubled write', what, ...open, ...answered);
    return undefined;
  }

  checkAnswered(call: UnmarkedCall): void {
    if (call.outcome.kind !== 'ok') return;
    const { answer } = call.outcome;
    const event = entryAt(this.log, answer.sequence)?.event;
    if (event !== undefined && isUnmarked(event) && deedOfEvent(event) === deedOfCall(call)) {
      const id = 'nodeId' in answer ? answer.nodeId : 'edgeId' in answer ? answer.edgeId : undefined;
      if (id !== undefined && id !== newIdIn(event))
        this.violate('wrong sequence', `the answer names id ${id}; the log has ${describeEvent(event)}`, call);
      return;
    }
    const logged = event === undefined ? 'no such event' : describeEvent(event);
    this.violate('lost write', `the answer names event ${answer.sequence}; the log has ${logged}`, call);
  }
}

export const isUnmarked = (event: LoggedEvent): event is UnmarkedEvent =>
  event.type !== 'insert' &&
  event.type !== 'insertEncrypted' &&
  event.type !== 'updateMetadata' &&
  event.type !== 'auditReads';

function deedOfCall(call: UnmarkedCall): string {
  switch (call.op) {
    case 'addNode':
      return `addNode ${call.kind} ${call.recordId}`;
    case 'addEdge':
      return `addEdge ${call.from} ${call.to} ${call.kind}`;
    default:
      return `${call.op} ${call.id}`;
  }
}

function deedOfEvent(event: UnmarkedEvent): string {
  switch (event.type) {
    case 'addNode':
      return `addNode ${event.kind} ${event.recordId}`;
    case 'addEdge':
      return `addEdge ${event.from} ${event.to} ${event.kind}`;
    case 'deleteNode':
      return `deleteNode ${event.nodeId}`;
    case 'deleteEdge':
      return `deleteEdge ${event.edgeId}`;
    case 'softDelete':
    case 'delete':
    case 'expire':
      return `${event.type} ${event.recordId}`;
    case 'shredKey':
      return `shredKey ${event.keyId}`;
    default:
      return unreachable(event);
  }
}

const newIdIn = (event: UnmarkedEvent): number | undefined =>
  event.type === 'addNode' ? event.nodeId : event.type === 'addEdge' ? event.edgeId : undefined;
