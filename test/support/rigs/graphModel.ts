/** Model of a collection's graph in the simplest way: filtered lists, and no second copy of anything. */

import type {
  Direction,
  GraphEdge,
  GraphNode,
  GraphRead,
  GraphResults,
  GraphWrite,
} from '../../../shared/model/graph.js';
import type { InsertCall } from '../../../shared/protocol/writes.js';
import type { SeededRandom } from '../model/random.js';
import { fixed, insertOf, requestIdOf } from './engine.js';

export type ModelledWrite = InsertCall | { readonly op: 'softDelete' | 'delete'; readonly id: number } | GraphWrite;

export class GraphModel {
  recordsGiven = 0;
  nodesGiven = 0;
  edgesGiven = 0;
  #live: number[] = [];
  #hidden: number[] = [];
  #nodes: GraphNode[] = [];
  #edges: GraphEdge[] = [];

  /** Insert of the next record, with a request id made from its number. */
  insert(x: number): InsertCall {
    return insertOf(fixed(x, 0), { requestId: requestIdOf(this.recordsGiven + 1) });
  }

  /** Whether the write is accepted. */
  apply(write: ModelledWrite): boolean {
    switch (write.op) {
      case 'insert':
        this.#live.push(++this.recordsGiven);
        return true;
      case 'softDelete':
        if (!this.#live.includes(write.id)) return false;
        this.#live = this.#live.filter((id) => id !== write.id);
        this.#hidden.push(write.id);
        return true;
      case 'delete':
        if (![...this.#live, ...this.#hidden].includes(write.id)) return false;
        this.#live = this.#live.filter((id) => id !== write.id);
        this.#hidden = this.#hidden.filter((id) => id !== write.id);
        this.#keep(({ recordId }) => recordId !== write.id);
        return true;
      case 'addNode':
        if (typeof write.recordId === 'string') throw new RangeError('the model finds records by ids alone');
        if (write.recordId !== null && !this.#live.includes(write.recordId)) return false;
        this.#nodes.push({ id: ++this.nodesGiven, kind: write.kind, recordId: write.recordId });
        return true;
      case 'deleteNode':
        if (this.#node(write.id) === undefined) return false;
        this.#keep(({ id }) => id !== write.id);
        return true;
      case 'addEdge': {
        const { from, to, kind } = write;
        if (this.#node(from) === undefined || this.#node(to) === undefined) return false;
        this.#edges.push({ id: ++this.edgesGiven, from, to, kind });
        return true;
      }
      case 'deleteEdge': {
        const { length } = this.#edges;
        this.#edges = this.#edges.filter(({ id }) => id !== write.id);
        return this.#edges.length < length;
      }
    }
  }

  randomRead(random: SeededRandom): GraphRead {
    const node = (): number => 1 + random.int(this.nodesGiven + 1);
    const perhaps = (n: number): number | null => (random.int(2) === 0 ? null : random.int(n));
    const depth = random.int(5);
    return random.pick<() => GraphRead>([
      () => ({ op: 'graphNode', id: node() }),
      () => ({ op: 'graphNodes', kind: perhaps(7), offset: random.int(20), limit: random.int(20) }),
      () => ({ op: 'graphEdges', id: node(), offset: random.int(3), limit: perhaps(5) }),
      () => ({ op: 'graphSubgraph', root: node(), depth }),
      () => ({
        op: 'graphQuery',
        start: node(),
        direction: random.pick(['outgoing', 'incoming', 'both']),
        edgeKind: perhaps(9),
        nodeKind: perhaps(7),
        depth,
        limit: 1 + random.int(20),
      }),
    ])();
  }

  /** Undefined if the node does not exist. */
  read(call: GraphRead): GraphResults[GraphRead['op']] | undefined {
    switch (call.op) {
      case 'graphNode':
        return this.#node(call.id);
      case 'graphNodes': {
        const nodes = this.#nodes.filter(({ kind }) => call.kind === null || kind === call.kind);
        return { nodes: nodes.slice(call.offset, call.offset + call.limit), count: nodes.length };
      }
      case 'graphEdges': {
        if (this.#node(call.id) === undefined) return undefined;
        const edges = this.#edges.filter(({ from }) => from === call.id);
        return { edges: edges.slice(call.offset, call.limit === null ? undefined : call.offset + call.limit) };
      }
      case 'graphSubgraph': {
        if (this.#node(call.root) === undefined) return undefined;
        const depths = this.depthsFrom([call.root], 'outgoing', call.depth, null);
        return {
          nodes: this.#ordered(depths).map(({ depth: _, ...node }) => node),
          edges: this.#edges.filter(({ from, to }) => depths.has(from) && depths.has(to)),
        };
      }
      case 'graphQuery': {
        if (this.#node(call.start) === undefined) return undefined;
        const depths = this.depthsFrom([call.start], call.direction, call.depth, call.edgeKind);
        const hits = this.#ordered(depths).filter(({ kind }) => call.nodeKind === null || kind === call.nodeKind);
        return { hits: hits.slice(0, call.limit), count: hits.length };
      }
    }
  }

  nodesOf(recordId: number): number[] {
    return this.#nodes.filter((node) => node.recordId === recordId).map(({ id }) => id);
  }

  /** Depths by node id. */
  depthsFrom(
    seeds: readonly number[],
    direction: Direction,
    farthest: number,
    edgeKind: number | null,
  ): Map<number, number> {
    const depths = new Map(seeds.map((seed) => [seed, 0]));
    for (let depth = 1; depth <= farthest; depth++) {
      const inner = new Set(depths.keys());
      for (const { from, to, kind } of this.#edges) {
        if (edgeKind !== null && kind !== edgeKind) continue;
        if (direction !== 'incoming' && inner.has(from) && !depths.has(to)) depths.set(to, depth);
        if (direction !== 'outgoing' && inner.has(to) && !depths.has(from)) depths.set(from, depth);
      }
    }
    return depths;
  }

  #ordered(depths: ReadonlyMap<number, number>): (GraphNode & { readonly depth: number })[] {
    return [...depths]
      .sort(([a, one], [b, other]) => one - other || a - b)
      .map(([id, depth]) => ({ ...(this.#node(id) as GraphNode), depth }));
  }

  #node(wanted: number): GraphNode | undefined {
    return this.#nodes.find(({ id }) => id === wanted);
  }

  #keep(isKept: (node: GraphNode) => boolean): void {
    this.#nodes = this.#nodes.filter(isKept);
    this.#edges = this.#edges.filter(({ from, to }) => this.#node(from) !== undefined && this.#node(to) !== undefined);
  }
}
