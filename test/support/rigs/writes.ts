/** Random changes of a collection and its model. */
import type { Generator, Option } from './generate.js';
import type { Mirrored } from './mirrored.js';

type Write = (collection: Mirrored, generator: Generator) => Promise<void>;

const KINDS_OF_EDGES = 9;
const NODES_MAX = 150;
const EDGES_PER_NODE = 2;

const RECORD_WRITES: readonly Write[] = [
  (collection, generator) => collection.insert(generator.record()),
  (collection, generator) => collection.insertAll([generator.record(), generator.record()]),
  (collection, generator) => collection.softDelete(generator.pick(collection.model.live)),
  (collection, generator) => collection.delete(generator.pick(collection.model.records)),
  (collection, generator) => collection.updateMetadata(generator.pick(collection.model.live), generator.metadata()),
];

const addNode: Write = (collection, generator) =>
  collection.addNode(generator.chance(0.8) ? generator.pick(collection.model.live) : undefined);

async function addEdge(collection: Mirrored, generator: Generator): Promise<void> {
  const { nodes } = collection.model.graph;
  if (nodes.length === 0) return addNode(collection, generator);
  const [from, to] = [generator.pick(nodes).id, generator.pick(nodes).id];
  return collection.addEdge({ from, to, kind: generator.int(KINDS_OF_EDGES) });
}

/** Links so densely that the best hits have neighbours among the others. */
export async function linkAtRandom(collection: Mirrored, generator: Generator): Promise<void> {
  const nodes = Math.min(NODES_MAX, collection.model.live.length);
  for (let i = 0; i < nodes; i++) await addNode(collection, generator);
  for (let i = 0; i < EDGES_PER_NODE * nodes; i++) await addEdge(collection, generator);
}

const GRAPH_WRITES: readonly Write[] = [
  addNode,
  addNode,
  addNode,
  addEdge,
  addEdge,
  addEdge,
  addEdge,
  async (collection, generator) => {
    const { nodes } = collection.model.graph;
    if (nodes.length > 0) await collection.deleteNode(generator.pick(nodes).id);
  },
  async (collection, generator) => {
    const { edges } = collection.model.graph;
    if (edges.length > 0) await collection.deleteEdge(generator.pick(edges));
  },
];

/** Makes one change, and waits for its answer: the very next search must reflect it. */
export async function changeAtRandom(
  collection: Mirrored,
  generator: Generator,
  options: ReadonlySet<Option>,
): Promise<void> {
  const isOfGraph = options.has('graph') && generator.chance(0.5);
  await generator.pick(isOfGraph ? GRAPH_WRITES : RECORD_WRITES)(collection, generator);
}
