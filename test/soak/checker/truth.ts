/** Finds whether an answer about one collection was true, and since when. Each kind of question goes to its model. */

import { unreachable } from '../../../shared/errors/errors.js';
import { toHex } from '../../../verifier/bytes.js';
import { answerOf } from '../history/asked.js';
import type { StateCall, TimelineCall } from '../history/proofs.js';
import type { PartCall, SearchCall } from '../history/searches.js';
import type { ReadCall, WriteCall } from '../history.js';
import { GraphModel } from './graphModel.js';
import { type CollectionLog, entryAt, hasBegun, type LoggedEvent, stateHashAt } from './log.js';
import { type Finding, Model } from './model.js';

/**
 * A call whose answer shows something of one collection: a read, or a write refused because something does not exist.
 */
export type Question = ReadCall | PartCall | WriteCall;

/** Copied from the contract, because the checker must not use what it checks. */
const TIMELINE_TYPES: Readonly<Record<LoggedEvent['type'], string>> = {
  insert: 'insert',
  insertEncrypted: 'insert_encrypted',
  softDelete: 'soft_delete',
  delete: 'delete',
  expire: 'delete',
  updateMetadata: 'update_metadata',
  shredKey: 'shred_key',
  addNode: 'add_node',
  deleteNode: 'delete_node',
  addEdge: 'add_edge',
  deleteEdge: 'delete_edge',
  auditReads: 'audit_reads',
};

export class Truth {
  readonly model: Model;
  readonly #graph: GraphModel;
  /** State hash before the first event: the same for every caller. */
  #hashOfNothing: string | undefined;

  /** `isApproximate`: the collection may have an index. */
  constructor(
    private readonly log: CollectionLog,
    private readonly isApproximate: boolean,
  ) {
    this.model = new Model(log);
    this.#graph = new GraphModel(log);
  }

  /**
   * First sequence of the range at which the answer is true. `anywhere`: `from` may be lower than for the last question
   * about a search.
   */
  first(question: Question, from: number, to: number, anywhere = false): number | undefined {
    const { outcome } = question;
    switch (outcome.kind) {
      case 'absent':
        return this.#firstAbsent(question, from, to);
      case 'changed':
        return this.#firstChanged(question, from, to);
      case 'shredded':
        return question.op === 'getEncrypted' ? this.model.firstLost(question.id, from, to) : undefined;
      case 'ok':
        return this.#firstShowing(question, from, to, anywhere);
      default:
        return undefined;
    }
  }

  /** Whether the search found the records of `sequence`. `isExact`: it used no index. */
  isFoundAt(search: SearchCall | PartCall, sequence: number, isExact = false): boolean {
    const looking = { anywhere: true, isApproximate: this.isApproximate && !isExact };
    const finding = findingOf(search);
    return finding !== undefined && this.model.firstFinding(finding, sequence, sequence, looking) !== undefined;
  }

  #firstAbsent(question: Question, from: number, to: number): number | undefined {
    const graph = this.#graph;
    switch (question.op) {
      case 'get':
      case 'softDelete':
      case 'updateMetadata':
      case 'mergeMetadata':
        return this.model.firstAbsent(question.id, from, to, 'diedAt');
      case 'delete':
        return this.model.firstAbsent(question.id, from, to, 'goneAt');
      case 'getEncrypted':
        return this.model.firstWithoutSecret(question.id, from, to);
      case 'addNode':
        if (question.recordId === null) return undefined;
        return this.model.firstAbsent(question.recordId, from, to, 'diedAt');
      case 'addEdge':
        return graph.first(from, to, (at) => !graph.hasNode(question.from, at) || !graph.hasNode(question.to, at));
      case 'deleteNode':
      case 'getNode':
      case 'edges':
        return graph.first(from, to, (at) => !graph.hasNode(question.id, at));
      case 'subgraph':
        return graph.first(from, to, (at) => !graph.hasNode(question.root, at));
      case 'deleteEdge':
        return graph.first(from, to, (at) => !graph.hasEdge(question.id, at));
      default:
        return undefined;
    }
  }

  #firstChanged(question: Question, from: number, to: number): number | undefined {
    if (!('since' in question) || question.since === null) return undefined;
    const until = question.op === 'delete' ? 'goneAt' : 'diedAt';
    return this.model.firstChanged(question.id, question.since, [from, to], until);
  }

  #firstShowing(question: Question, from: number, to: number, anywhere: boolean): number | undefined {
    switch (question.op) {
      case 'get':
        return this.model.firstShowing(answerOf(question), question.id, from, to);
      case 'getEncrypted':
        return this.model.firstTelling(answerOf(question), question.id, from, to);
      case 'search':
      case 'partOfMultiSearch': {
        const finding = findingOf(question);
        const looking = { anywhere, isApproximate: this.isApproximate };
        return finding && this.model.firstFinding(finding, from, to, looking);
      }
      case 'list':
      case 'searchText':
      case 'searchHybrid':
        return this.model.firstWhole(question, from, to);
      case 'getNode':
      case 'edges':
      case 'subgraph':
        return this.#graph.firstShowing(question, from, to);
      case 'state':
        return this.#isState(question) ? within(answerOf(question).sequence, from, to) : undefined;
      case 'timeline':
        return this.#isTimeline(question) ? within(answerOf(question).total, from, to) : undefined;
      case 'insert':
      case 'insertBatch':
      case 'insertEncrypted':
      case 'softDelete':
      case 'delete':
      case 'updateMetadata':
      case 'mergeMetadata':
      case 'mergeMany':
      case 'addNode':
      case 'addEdge':
      case 'deleteNode':
      case 'deleteEdge':
        return undefined;
      default:
        return unreachable(question);
    }
  }

  #isState(call: StateCall): boolean {
    const { sequence, stateRoot, stateHash, chainHead } = answerOf(call);
    if (!hasBegun(this.log)) {
      this.#hashOfNothing ??= stateHash;
      return sequence === 0 && stateHash === this.#hashOfNothing;
    }
    const at = sequence === 0 ? this.log.genesis : entryAt(this.log, sequence);
    const replayed = this.log.stateRoots.get(sequence);
    return (
      at !== undefined &&
      toHex(at.chainHead) === chainHead &&
      stateHashAt(this.log, sequence, stateRoot) === stateHash &&
      (replayed === undefined || replayed === stateRoot)
    );
  }

  #isTimeline(call: TimelineCall): boolean {
    const { total, events } = answerOf(call);
    const { after, limit } = call;
    return (
      events.length === Math.max(0, Math.min(limit, total - after)) &&
      events.every(({ sequence, type, about }, i) => {
        const event = entryAt(this.log, after + 1 + i)?.event;
        if (event === undefined || sequence !== after + 1 + i) return false;
        return aboutOf(event) === about && TIMELINE_TYPES[event.type] === type;
      })
    );
  }
}

/** Undefined if it has more hits than requested, or lacks scores. */
function findingOf(search: SearchCall | PartCall): Finding | undefined {
  const { ids, scores } = answerOf(search);
  const { k, query, color } = search;
  if (ids.length > k || ids.length !== scores.length) return undefined;
  const last = ids.length < k ? null : { id: ids[k - 1]!, score: scores[k - 1]! };
  return { query, color, ids, scores, cut: search.op === 'search' ? last : search.cut };
}

function aboutOf(event: LoggedEvent): number | string {
  if ('recordId' in event && event.type !== 'addNode') return event.recordId;
  if ('nodeId' in event) return event.nodeId;
  if ('keyId' in event) return event.keyId;
  return 'edgeId' in event ? event.edgeId : 0;
}

const within = (sequence: number, from: number, to: number): number | undefined =>
  sequence >= from && sequence <= to ? sequence : undefined;
