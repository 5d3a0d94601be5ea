/** A graph in the simplest way: nodes and edges in arrays, walked level by level. */

export interface ModelNode {
  readonly id: number;
  readonly recordId: number | null;
}

export interface ModelEdge {
  readonly id: number;
  readonly from: number;
  readonly to: number;
}

export type Direction = 'outgoing' | 'incoming' | 'both';

export class ModelGraph {
  nodes: ModelNode[] = [];
  edges: ModelEdge[] = [];

  removeNode(id: number): void {
    this.nodes = this.nodes.filter((node) => node.id !== id);
    this.edges = this.edges.filter(({ from, to }) => from !== id && to !== id);
  }

  removeEdge(id: number): void {
    this.edges = this.edges.filter((edge) => edge.id !== id);
  }

  /** Removes the record's nodes, and their edges. */
  removeRecord(recordId: number): void {
    for (const id of this.nodesOf(recordId)) this.removeNode(id);
  }

  nodesOf(recordId: number): number[] {
    return this.nodes.filter((node) => node.recordId === recordId).map(({ id }) => id);
  }

  /** Hops to each node within `maxDepth` of a seed. */
  hopsFrom(seeds: readonly number[], direction: Direction, maxDepth: number): Map<number, number> {
    const hops = new Map(seeds.map((seed) => [seed, 0]));
    for (let depth = 1; depth <= maxDepth; depth++) {
      const border = [...hops].filter(([, at]) => at === depth - 1).map(([id]) => id);
      for (const neighbour of border.flatMap((id) => this.#neighbours(id, direction)))
        if (!hops.has(neighbour)) hops.set(neighbour, depth);
    }
    return hops;
  }

  #neighbours(id: number, direction: Direction): number[] {
    return this.edges.flatMap(({ from, to }) => [
      ...(from === id && direction !== 'incoming' ? [to] : []),
      ...(to === id && direction !== 'outgoing' ? [from] : []),
    ]);
  }
}
