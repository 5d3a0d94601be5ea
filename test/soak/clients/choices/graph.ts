/** Chooses a client's graph calls. */
import type { GraphReadCall, GraphWriteCall } from '../../history/graph.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { KnownIds } from '../knownIds.js';
import type { Draws } from './draws.js';

const NODE_KINDS = 7;
const EDGE_KINDS = 9;
/** Approximate number of nodes per collection. */
const NODES_WANTED = 60;
const DEPTH_MAX = 3;

export function graphWrite(draws: Draws, collection: string, known: Known): Wanted<GraphWriteCall> {
  const { random } = draws;
  const chance = random.int(100);
  const isFull = known.nodes.size > NODES_WANTED;
  if (known.nodes.size === 0 || chance < (isFull ? 15 : 40)) {
    const recordId = draws.onceIn(3) ? null : known.anyRecord(random);
    return { op: 'addNode', collection, kind: random.int(NODE_KINDS), recordId };
  }
  const node = (): number => anyOf(known.nodes, draws);
  if (chance < (isFull ? 50 : 75))
    return { op: 'addEdge', collection, from: node(), to: node(), kind: random.int(EDGE_KINDS) };
  if (chance < (isFull ? 85 : 88)) return { op: 'deleteNode', collection, id: node() };
  return { op: 'deleteEdge', collection, id: anyOf(known.edges, draws) };
}

export function graphRead(draws: Draws, collection: string, known: Known): Wanted<GraphReadCall> {
  const { random } = draws;
  const id = anyOf(known.nodes, draws);
  const chance = random.int(3);
  if (chance === 0) return { op: 'getNode', collection, id };
  if (chance === 1) return { op: 'edges', collection, id };
  return { op: 'subgraph', collection, root: id, depth: 1 + random.int(DEPTH_MAX) };
}

const anyOf = (ids: KnownIds<number>, { random }: Draws): number =>
  ids.pick(random, () => 1 + random.int(ids.size + 10));
