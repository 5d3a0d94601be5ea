/** Checks that links lead to nodes. Searches do not check: they would read any memory as a node. */
import { Graph, levelOf, listOf, NO_NODE, neighboursOn, vectorOf } from './graph';

/** Above any level that is drawn for 2^32 nodes. */
const LEVELS_MAX: u32 = 64;

/**
 * Checks `most` nodes from `first` on. Returns the first with a wrong link, or NO_NODE. `upperWords`: size of the upper
 * lists.
 */
export function findBadNode(graph: Graph, upperWords: u32, first: u32, most: u32): u32 {
  const end = min<u32>(graph.count, first + most);
  for (let node = first; node < end; node++) if (!hasUpper(graph, upperWords, node) || !isLinked(graph, upperWords, node)) return node;
  return NO_NODE;
}

/** Whether the node's upper lists lie within the memory for them. */
function hasUpper(graph: Graph, upperWords: u32, node: u32): bool {
  const upper = load<u32>(vectorOf(graph, node) + graph.vectorBytes, 8);
  if (upper == 0) return true;
  if (upper >= upperWords) return false;
  const level = levelOf(graph, node);
  return level > 0 && level <= LEVELS_MAX && level * (graph.neighbours + 1) < upperWords - upper;
}

function isLinked(graph: Graph, upperWords: u32, node: u32): bool {
  for (let level = i32(levelOf(graph, node)); level >= 0; level--) {
    const list = listOf(graph, node, level);
    const count = load<u32>(list);
    if (count > neighboursOn(graph, level)) return false;
    for (let at: u32 = 1; at <= count; at++) {
      const neighbour = load<u32>(list + (usize(at) << 2));
      if (neighbour >= graph.count) return false;
      if (level > 0 && !(hasUpper(graph, upperWords, neighbour) && levelOf(graph, neighbour) >= u32(level))) return false;
    }
  }
  return true;
}
