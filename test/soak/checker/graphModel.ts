/** Model of a collection's graph after each event of its log, in the simplest way. */

import { answerOf } from '../history/asked.js';
import type { GraphEdge, GraphNode, GraphReadCall } from '../history/graph.js';
import type { CollectionLog, LoggedEvent } from './log.js';
import { NEVER } from './span.js';

interface Lasting {
  readonly bornAt: number;
  goneAt: number;
}

export class GraphModel {
  /** Node `id` is at index `id − 1`. */
  readonly #nodes: (GraphNode & Lasting)[] = [];
  readonly #edges: (GraphEdge & Lasting)[] = [];
  /** Sequences at which the graph changed, ascending. */
  readonly #changedAt: number[] = [];

  constructor(log: CollectionLog) {
    for (const [i, { event }] of log.entries.entries()) this.#apply(event, i + 1);
  }

  hasNode(id: number, sequence: number): boolean {
    return isThere(this.#nodes[id - 1], sequence);
  }

  hasEdge(id: number, sequence: number): boolean {
    return isThere(this.#edges[id - 1], sequence);
  }

  /** First sequence from `from` to `to` at which the answer was true. */
  firstShowing(call: GraphReadCall, from: number, to: number): number | undefined {
    const answer = JSON.stringify(answerOf(call));
    return this.first(from, to, (sequence) => JSON.stringify(this.#answerAt(call, sequence)) === answer);
  }

  /** First sequence at which `holds` is true, if only changes of the graph can change it. */
  first(from: number, to: number, holds: (sequence: number) => boolean): number | undefined {
    if (from > to) return undefined;
    if (holds(from)) return from;
    return this.#changedAt.find((sequence) => sequence > from && sequence <= to && holds(sequence));
  }

  #answerAt(call: GraphReadCall, sequence: number): object | undefined {
    switch (call.op) {
      case 'getNode':
        return this.hasNode(call.id, sequence) ? shownNode(this.#nodes[call.id - 1]!) : undefined;
      case 'edges':
        if (!this.hasNode(call.id, sequence)) return undefined;
        return { edges: this.#edgesAt(sequence, ({ from }) => from === call.id) };
      case 'subgraph':
        return this.hasNode(call.root, sequence) ? this.#subgraphAt(call.root, call.depth, sequence) : undefined;
    }
  }

  /** Sorts by depth, then by id. */
  #subgraphAt(root: number, depth: number, sequence: number): { nodes: GraphNode[]; edges: GraphEdge[] } {
    const reached = new Set([root]);
    let ring = [root];
    for (let hop = 0; hop < depth; hop++) {
      const next = this.#edgesAt(sequence, ({ from }) => ring.includes(from)).map(({ to }) => to);
      ring = [...new Set(next)].filter((id) => !reached.has(id)).sort((a, b) => a - b);
      for (const id of ring) reached.add(id);
    }
    return {
      nodes: [...reached].map((id) => shownNode(this.#nodes[id - 1]!)),
      edges: this.#edgesAt(sequence, ({ from, to }) => reached.has(from) && reached.has(to)),
    };
  }

  #edgesAt(sequence: number, isWanted: (edge: GraphEdge) => boolean): GraphEdge[] {
    const edges = this.#edges.filter((edge) => isThere(edge, sequence) && isWanted(edge));
    return edges.map(({ id, from, to, kind }) => ({ id, from, to, kind }));
  }

  #apply(event: LoggedEvent, sequence: number): void {
    switch (event.type) {
      case 'addNode': {
        const { nodeId: id, kind, recordId } = event;
        this.#nodes[id - 1] = { id, kind, recordId, bornAt: sequence, goneAt: NEVER };
        break;
      }
      case 'addEdge': {
        const { edgeId: id, from, to, kind } = event;
        this.#edges[id - 1] = { id, from, to, kind, bornAt: sequence, goneAt: NEVER };
        break;
      }
      case 'deleteNode':
        this.#dropNode(event.nodeId, sequence);
        break;
      case 'deleteEdge':
        this.#drop(this.#edges[event.edgeId - 1], sequence);
        break;
      case 'delete':
      case 'expire':
        for (const { id, recordId } of this.#nodes) if (recordId === event.recordId) this.#dropNode(id, sequence);
        break;
      default:
        return;
    }
    this.#changedAt.push(sequence);
  }

  /** Removes a node and its edges. */
  #dropNode(id: number, sequence: number): void {
    this.#drop(this.#nodes[id - 1], sequence);
    for (const edge of this.#edges) if (edge.from === id || edge.to === id) this.#drop(edge, sequence);
  }

  #drop(what: Lasting | undefined, sequence: number): void {
    if (what !== undefined) what.goneAt = Math.min(what.goneAt, sequence);
  }
}

const isThere = (what: Lasting | undefined, sequence: number): boolean =>
  what !== undefined && what.bornAt <= sequence && sequence < what.goneAt;

const shownNode = ({ id, kind, recordId }: GraphNode): GraphNode => ({ id, kind, recordId });
