/** Hits reordered by their distance in the graph, compared with the definition. */
import { expect } from 'chai';
import { Graph } from '../../../../shard/graph/graph.js';
import type { PlannedGraphWrite } from '../../../../shard/graph/graphPlan.js';
import { distanceOf, type Found } from '../../../../shard/search/found.js';
import { rerankByGraph } from '../../../../shard/search/graphRerank.js';
import { systemClock } from '../../../../shared/clock.js';
import type { GraphRerank } from '../../../../shared/protocol/calls.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { GraphModel, type ModelledWrite } from '../../../support/rigs/graphModel.js';

const DEFAULTS: GraphRerank = { weight: 0.15, seedCount: 1, maxDepth: 2, direction: 'outgoing' };
const slice = (): Slice => new Slice(systemClock, systemClock.nowMs() + 60_000);

const foundOf = (ids: readonly number[], scores: readonly number[]): Found => ({
  ids: Float64Array.from(ids),
  slots: Uint32Array.from(ids, (id) => id + 100),
  scores: Float64Array.from(scores),
});

/** A graph and its model. */
class Twins {
  readonly graph = new Graph();
  readonly model = new GraphModel();
  #sequence = 0;

  constructor(records: number) {
    for (let n = 0; n < records; n++) this.model.apply(this.model.insert(0));
  }

  write(write: PlannedGraphWrite): void {
    const given = { nodeId: this.graph.nextNodeId, edgeId: this.graph.nextEdgeId };
    if (!this.model.apply(write as ModelledWrite)) return;
    const dated = { sequence: ++this.#sequence, timeMs: 0, actor: null };
    switch (write.op) {
      case 'addNode':
        this.graph.apply({ type: 'addNode', ...dated, nodeId: given.nodeId, ...write });
        return;
      case 'addEdge':
        this.graph.apply({ type: 'addEdge', ...dated, edgeId: given.edgeId, ...write });
        return;
      case 'deleteNode':
        this.graph.apply({ type: 'deleteNode', ...dated, nodeId: write.id });
        return;
      case 'deleteEdge':
        this.graph.apply({ type: 'deleteEdge', ...dated, edgeId: write.id });
        return;
    }
  }
}

describe('the rerank by graph', () => {
  it('multiplies the distance by 1 + weight · hops, and leaves unreachable hits unchanged', async () => {
    const { graph, write } = chain();
    write(4);
    const found = foundOf([1, 2, 3, 4, 5], [1, 2, 2.1, 2.2, 2.3]);
    const by = await rerankByGraph(found, graph, { ...DEFAULTS, weight: 1 }, slice());
    // The adjusted distances are 2 · 2 and 2.1 · 3. The fourth hit is three hops away, and the fifth has no node.
    expect([...by.ids]).to.deep.equal([1, 4, 5, 2, 3]);
    expect([...by.hops!]).to.deep.equal([0, -1, -1, 1, 2]);
    expect([...by.scores]).to.deep.equal([1, 2.2, 2.3, 2, 2.1]);
    expect([...by.slots]).to.deep.equal([101, 104, 105, 102, 103]);
    const deeper = await rerankByGraph(found, graph, { ...DEFAULTS, maxDepth: 4 }, slice());
    expect([...deeper.hops!].sort()).to.deep.equal([-1, 0, 1, 2, 3]);
  });

  it('orders equal hits by score, then by id, and accepts an empty answer', async () => {
    const { graph } = chain();
    const same = await rerankByGraph(foundOf([9, 7, 8], [3, 3, 3]), graph, DEFAULTS, slice());
    expect([...same.ids]).to.deep.equal([7, 8, 9]);
    const none = await rerankByGraph(foundOf([], []), graph, DEFAULTS, slice());
    expect(none.hops).to.deep.equal(new Int32Array(0));
  });

  it('uses the decayed distance if there is decay, and moves factors and ages with the hits', async () => {
    const { graph } = chain();
    const aged = { factors: Float64Array.of(1, 0.5, 1), agesSecs: Float64Array.of(0, 60, 1) };
    const found: Found = { ...foundOf([1, 2, 9], [1, 1, 2.5]), aged };
    const { ids, aged: moved } = await rerankByGraph(found, graph, { ...DEFAULTS, weight: 1 }, slice());
    expect([...ids]).to.deep.equal([1, 9, 2]);
    expect(moved).to.deep.equal({ factors: Float64Array.of(1, 1, 0.5), agesSecs: Float64Array.of(0, 1, 60) });
  });

  it('starts at all nodes of a record, however many, and yields meanwhile', async () => {
    const NODES = 300_000;
    const graph = new Graph();
    for (let i = 1; i <= NODES; i++)
      graph.apply({
        type: 'addNode',
        sequence: i,
        timeMs: 0,
        actor: null,
        nodeId: i,
        recordId: i === NODES ? 2 : 1,
        kind: 1,
      });
    graph.apply({
      type: 'addEdge',
      sequence: NODES + 1,
      timeMs: 0,
      actor: null,
      edgeId: 1,
      from: NODES - 1,
      to: NODES,
      kind: 1,
    });
    let rests = 0;
    // Each reading of this clock ends the slice.
    const due = new Slice({ nowMs: () => 0, monotonicMs: () => (rests += 10) });
    const { hops } = await rerankByGraph(foundOf([1, 2], [1, 2]), graph, DEFAULTS, due);
    expect(Array.from(hops!)).to.deep.equal([0, 1]);
    expect(rests).to.be.above((10 * NODES) / 512);
  });

  it('equals its definition, for random graphs and hits', async () => {
    const random = seededRandom(testSeed());
    for (let round = 0; round < 60; round++) {
      const twins = randomGraph(random);
      for (let n = 0; n < 10; n++) {
        const found = randomFound(random);
        const options: GraphRerank = {
          weight: random.next(),
          seedCount: 1 + random.int(10),
          maxDepth: random.int(5),
          direction: random.pick(['outgoing', 'incoming', 'both']),
        };
        const by = await rerankByGraph(found, twins.graph, options, slice());
        expect([...by.ids].map((id, i) => [id, by.hops![i]])).to.deep.equal(defined(found, twins.model, options));
      }
    }
  });
});

/** Records 1 to 5; a node for each of the first three, 1 → 2 → 3, and a fourth on request. */
function chain(): { graph: Graph; write: (recordId: number) => void } {
  const twins = new Twins(5);
  const write = (recordId: number): void => {
    twins.write({ op: 'addNode', kind: 0, recordId });
    if (recordId > 1) twins.write({ op: 'addEdge', from: recordId - 1, to: recordId, kind: 0 });
  };
  for (const recordId of [1, 2, 3]) write(recordId);
  return { graph: twins.graph, write };
}

const RECORDS = 30;

function randomGraph(random: SeededRandom): Twins {
  const twins = new Twins(RECORDS);
  for (let n = 0; n < 100; n++) {
    const node = (): number => 1 + random.int(twins.model.nodesGiven + 1);
    const dice = random.next();
    if (dice < 0.4)
      twins.write({ op: 'addNode', kind: 0, recordId: random.int(4) === 0 ? null : 1 + random.int(RECORDS) });
    else if (dice < 0.9) twins.write({ op: 'addEdge', from: node(), to: node(), kind: 0 });
    else
      twins.write(
        random.pick([
          { op: 'deleteNode', id: node() },
          { op: 'deleteEdge', id: node() },
        ] as const),
      );
  }
  return twins;
}

function randomFound(random: SeededRandom): Found {
  const ids = Array.from({ length: RECORDS }, (_, i) => i + 1)
    .sort(() => random.next() - 0.5)
    .slice(0, random.int(RECORDS));
  return foundOf(
    ids,
    ids.map(() => random.int(5)),
  );
}

/** Id and hops of each hit, in the defined order. */
function defined(found: Found, model: GraphModel, options: GraphRerank): [number, number][] {
  const { weight, seedCount, maxDepth, direction } = options;
  const ids = [...found.ids];
  const seeds = ids.slice(0, seedCount).flatMap((id) => model.nodesOf(id));
  const depths = model.depthsFrom(seeds, direction, maxDepth, null);
  const hits = ids.map((id, i) => {
    const reached = model.nodesOf(id).flatMap((node) => depths.get(node) ?? []);
    const hops = reached.length === 0 ? -1 : Math.min(...reached);
    const distance = distanceOf(found, i);
    return { id, hops, score: found.scores[i]!, adjusted: hops === -1 ? distance : distance * (1 + weight * hops) };
  });
  return hits
    .sort((a, b) => a.adjusted - b.adjusted || a.score - b.score || a.id - b.id)
    .map(({ id, hops }) => [id, hops]);
}
