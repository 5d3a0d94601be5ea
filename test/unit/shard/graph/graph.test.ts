// Covers: shard/graph/graph.ts, shard/graph/graphPlan.ts, shard/graph/read.ts, shard/graph/graphRoot.ts
// Covers: shard/graph/graphTree.ts, shard/graph/rootHistory.ts, shard/graph/walk.ts, shared/model/graph.ts
/** The graph of a collection over local logs, compared with a plain model. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Graph } from '../../../../shard/graph/graph.js';
import { GraphPlan } from '../../../../shard/graph/graphPlan.js';
import { readGraph } from '../../../../shard/graph/read.js';
import type { VouchError } from '../../../../shared/errors/errors.js';
import { EMPTY_HASH, toHex } from '../../../../shared/hashing/hash.js';
import { Damaged } from '../../../../shared/log/damaged.js';
import type { GraphEvent } from '../../../../shared/log/event.js';
import { LOG_START } from '../../../../shared/log/eventLog.js';
import { LocalLogs } from '../../../../shared/log/segments.js';
import {
  GRAPH_PAGE_MAX,
  type GraphRead,
  type GraphResults,
  type GraphWrite,
  NODES_OF_RECORD_MAX,
} from '../../../../shared/model/graph.js';
import type { Receipt } from '../../../../shared/model/receipt.js';
import type { Results } from '../../../../shared/protocol/calls.js';
import { Slice } from '../../../../shared/scheduling/slice.js';
import { readProof, verifyReceipt } from '../../../../verifier/receipt.js';
import { expectCode } from '../../../support/expectations.js';
import { type SeededRandom, seededRandom, testSeed } from '../../../support/model/random.js';
import { configOf, Engine, receiptIn, requestIdOf, soon, type TestCollection } from '../../../support/rigs/engine.js';
import { GraphModel } from '../../../support/rigs/graphModel.js';
import { replayedLog } from '../../../support/rigs/replayedLog.js';

const ID = 7;

describe('the graph of a collection', () => {
  let folder: string;
  let logs: LocalLogs;
  let collection: TestCollection;

  async function open(): Promise<void> {
    logs = await LocalLogs.open({ folder });
    collection = new Engine(logs).host(configOf(ID));
  }
  async function restart(): Promise<void> {
    await collection.hosted.close({ keep: true });
    await logs.close();
    await open();
  }
  async function frames(): Promise<Uint8Array[]> {
    const log = await logs.open(ID);
    const all: Uint8Array[] = [];
    for await (const { bytes } of log.read(LOG_START)) all.push(bytes.slice());
    await log.close();
    return all;
  }
  const write = <W extends GraphWrite>(call: W): Promise<GraphResults[W['op']]> =>
    collection.write(call) as Promise<GraphResults[W['op']]>;
  const read = <R extends GraphRead>(call: R): Promise<GraphResults[R['op']]> =>
    collection.hosted.run(call, soon()) as Promise<GraphResults[R['op']]>;
  const addNode = (recordId: number | null = null, kind = 1) => write({ op: 'addNode', kind, recordId });
  const addEdge = (from: number, to: number, kind = 0) => write({ op: 'addEdge', from, to, kind });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-graph-'));
    await open();
  });
  afterEach(async () => {
    await collection.hosted.close({ keep: true });
    await logs.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('gives nodes and edges ids from 1, without reuse', async () => {
    await collection.insert([0, 0]);
    expect(await addNode(1)).to.deep.equal({ id: 1, sequence: 2 });
    expect(await addNode()).to.deep.equal({ id: 2, sequence: 3 });
    expect(await addEdge(1, 2)).to.deep.equal({ id: 1, sequence: 4 });
    expect(await write({ op: 'deleteEdge', id: 1 })).to.deep.equal({ sequence: 5 });
    expect(await write({ op: 'deleteNode', id: 2 })).to.deep.equal({ sequence: 6 });
    await restart();
    expect((await addNode()).id).to.equal(3);
    expect((await addEdge(1, 3)).id).to.equal(2);
  });

  it('checks each write against the graph after the earlier writes of the frame', async () => {
    await collection.insert([0, 0]);
    const outcomes = await Promise.allSettled([
      addNode(1),
      addNode(),
      addEdge(1, 2),
      addEdge(2, 3),
      write({ op: 'deleteNode', id: 2 }),
      write({ op: 'deleteEdge', id: 1 }),
      addEdge(1, 2),
      collection.write({ op: 'delete', id: 1 }),
      addNode(1),
      write({ op: 'deleteNode', id: 1 }),
      addNode(),
    ]);
    const results = outcomes.map((one) => (one.status === 'rejected' ? one.reason.code : 'done'));
    const gone = 'not_found';
    expect(results).to.deep.equal([
      ...['done', 'done', 'done', gone, 'done', gone, gone],
      ...['done', 'record_not_found', gone, 'done'],
    ]);
    expect(await read({ op: 'graphNodes', kind: null, offset: 0, limit: 10 })).to.deep.equal({
      nodes: [{ id: 3, kind: 1, recordId: null }],
      count: 1,
    });
    const report = await replayedLog(await frames());
    expect(report.problems).to.deep.equal([]);
  });

  it('keeps the nodes of a soft-deleted record, and deletes those of a deleted one', async () => {
    await collection.insert([0, 0]);
    for (const recordId of [1, null, 1]) await addNode(recordId);
    await addEdge(1, 2);
    await addEdge(2, 3);
    await collection.write({ op: 'softDelete', id: 1 });
    await expectCode(addNode(1), 'record_not_found');
    expect((await read({ op: 'graphNode', id: 1 })).recordId).to.equal(1);
    expect((await read({ op: 'graphEdges', id: 2, offset: 0, limit: null })).edges).to.have.length(1);
    await collection.write({ op: 'delete', id: 1 });
    for (let round = 0; round < 2; round++) {
      await expectCode(read({ op: 'graphNode', id: 1 }), 'not_found');
      expect((await read({ op: 'graphEdges', id: 2, offset: 0, limit: null })).edges).to.deep.equal([]);
      await expectCode(write({ op: 'deleteEdge', id: 1 }), 'not_found');
      await restart();
    }
  });

  it('answers like the plain model, with the root of an independent replay, after random writes', async () => {
    const random = seededRandom(testSeed());
    const model = new GraphModel();
    const receipts: Receipt[] = [];
    for (let n = 0; n < 400; n++) {
      const op = randomWrite(model, random, n);
      const accepted = model.apply(op);
      try {
        const answer = await collection.write(op);
        expect(accepted, JSON.stringify(op)).to.equal(true);
        if (op.op === 'insert') receipts.push(receiptIn(answer as Results['insert']));
      } catch (error) {
        expect(accepted, `${JSON.stringify(op)}: ${error}`).to.equal(false);
      }
    }
    const look = async (): Promise<void> => {
      for (let n = 0; n < 150; n++) {
        const call = model.randomRead(random);
        const expected = model.read(call);
        if (expected === undefined) await expectCode(read(call), 'not_found');
        else expect(await read(call), JSON.stringify(call)).to.deep.equal(expected);
      }
    };
    await look();
    await restart();
    await look();
    const all = await frames();
    // A receipt has the graph root of its write, both when it was made and when it is made again.
    for (const receipt of receipts) {
      expect(verifyReceipt(receipt)).to.deep.equal([]);
      expect(await collection.replay(requestIdOf(receipt.record_id))).to.deep.equal(receipt);
      const then = await replayedLog(framesUntil(all, receipt.sequence));
      expect(then.problems).to.deep.equal([]);
      expect(toHex(readProof(receipt.proof).graphRoot)).to.equal(then.graphRoot);
      expect(receipt.state_hash).to.equal(then.stateHash);
    }
    expect((await replayedLog(all)).problems).to.deep.equal([]);
  });

  it('lists nodes by id, page by page, of one kind or all', async () => {
    for (let n = 0; n < 7; n++) await addNode(null, n % 3);
    await write({ op: 'deleteNode', id: 4 });
    const page = async (kind: number | null, offset: number, limit: number) => {
      const { nodes, count } = await read({ op: 'graphNodes', kind, offset, limit });
      return [nodes.map(({ id }) => id), count];
    };
    expect(await page(null, 0, 3)).to.deep.equal([[1, 2, 3], 6]);
    expect(await page(null, 3, 3)).to.deep.equal([[5, 6, 7], 6]);
    expect(await page(0, 0, 10)).to.deep.equal([[1, 7], 2]);
    expect(await page(0, 1, 1)).to.deep.equal([[7], 2]);
    expect(await page(6, 0, 10)).to.deep.equal([[], 0]);
    expect(await page(null, 2 ** 53 - 1, 10)).to.deep.equal([[], 6]);
  });
});

describe('a graph', () => {
  const add = (nodeId: number, sequence: number): GraphEvent => ({
    type: 'addNode',
    sequence,
    timeMs: 0,
    actor: null,
    nodeId,
    recordId: null,
    kind: 0,
  });
  const edge = (edgeId: number, from: number, to: number, sequence: number): GraphEvent => ({
    type: 'addEdge',
    sequence,
    timeMs: 0,
    actor: null,
    edgeId,
    from,
    to,
    kind: 0,
  });

  it('has the empty root until its first node, and never again', () => {
    const graph = new Graph();
    expect(graph.root()).to.deep.equal(EMPTY_HASH);
    graph.apply(add(1, 1));
    graph.apply({ type: 'deleteNode', sequence: 2, timeMs: 0, actor: null, nodeId: 1 });
    expect(graph.root()).not.to.deep.equal(EMPTY_HASH);
    expect(toHex(graph.rootAt(0))).to.equal(toHex(EMPTY_HASH));
  });

  it('refuses events that cannot follow the earlier ones', () => {
    const graph = new Graph();
    for (const event of [add(1, 1), add(2, 2), edge(1, 1, 2, 3)]) graph.apply(event);
    const impossible: GraphEvent[] = [
      add(2, 4),
      add(4, 4),
      edge(1, 1, 2, 4),
      edge(3, 1, 2, 4),
      edge(2, 1, 3, 4),
      edge(2, 3, 1, 4),
      { type: 'deleteNode', sequence: 4, timeMs: 0, actor: null, nodeId: 3 },
      { type: 'deleteEdge', sequence: 4, timeMs: 0, actor: null, edgeId: 2 },
    ];
    const before = toHex(graph.root());
    for (const event of impossible) expect(() => graph.apply(event)).to.throw(Damaged);
    expect(toHex(graph.root())).to.equal(before);
    graph.apply({ type: 'deleteNode', sequence: 4, timeMs: 0, actor: null, nodeId: 2 });
    const gone: GraphEvent = { type: 'deleteEdge', sequence: 5, timeMs: 0, actor: null, edgeId: 1 };
    expect(() => graph.apply(gone)).to.throw(Damaged);
  });

  it('drops the edges of deleted nodes', () => {
    const graph = new Graph();
    let sequence = 0;
    graph.apply(add(1, ++sequence));
    for (let n = 1; n <= 1_000; n++) {
      graph.apply(add(n + 1, ++sequence));
      graph.apply(edge(n, 1, n + 1, ++sequence));
      graph.apply({ type: 'deleteNode', sequence: ++sequence, timeMs: 0, actor: null, nodeId: n + 1 });
    }
    expect(graph.outgoing(1).length).to.be.below(64);
  });

  it('accepts 100,000 nodes of a record, and another one after a deletion', () => {
    const graph = new Graph();
    const ids = Array.from({ length: NODES_OF_RECORD_MAX - 2 }, (_, i) => i + 1);
    for (const nodeId of ids)
      graph.apply({ type: 'addNode', sequence: nodeId, timeMs: 0, actor: null, nodeId, recordId: 7, kind: 1 });
    const add = { op: 'addNode', kind: 1, recordId: 7 } as const;
    const refusalOf = (plan: GraphPlan): unknown => {
      try {
        plan.add(add);
        return undefined;
      } catch (error) {
        return (error as VouchError).message;
      }
    };
    const full = 'record 7 has 100000 nodes in the graph, the most that a record may have';
    const plan = new GraphPlan(graph, () => false);
    expect([refusalOf(plan), refusalOf(plan), refusalOf(plan)]).to.deep.equal([undefined, undefined, full]);
    plan.add({ ...add, recordId: 8 });
    graph.apply({ type: 'deleteNode', sequence: ids.length + 1, timeMs: 0, actor: null, nodeId: 5 });
    const next = new GraphPlan(graph, () => false);
    for (let i = 0; i < 3; i++) expect(refusalOf(next)).to.equal(undefined);
    expect(refusalOf(next)).to.equal(full);
    expect(graph.countNodesOfRecord(7)).to.equal(graph.nodesOfRecord(7).length);
  });

  it('deletes all nodes of a record at once, and hashes them in steps to the right root', () => {
    const NODES = 5_000;
    const linked = (nodeId: number): GraphEvent =>
      ({ ...add(nodeId, nodeId), recordId: nodeId % 3 === 0 ? 8 : 7 }) as GraphEvent;
    const [graph, plain] = [new Graph(), new Graph()];
    for (let id = 1; id <= NODES; id++) for (const each of [graph, plain]) each.apply(linked(id));
    let sequence = NODES;
    for (const each of [graph, plain]) each.apply(edge(1, 1, 3, sequence + 1));
    graph.recordDeleted(7, sequence + 2);
    sequence += 2;
    for (let id = 1; id <= NODES; id++)
      if (id % 3 !== 0) plain.apply({ type: 'deleteNode', sequence: sequence++, timeMs: 0, actor: null, nodeId: id });

    const isGone = (): void => {
      expect([graph.countNodes(null), graph.nodesOfRecord(7).length, graph.nodesOfRecord(8).length]).to.deep.equal(
        Array(3)
          .fill(Math.floor(NODES / 3))
          .with(1, 0),
      );
      expect([graph.node(1), graph.edge(1), graph.outgoing(1).length]).to.deep.equal([undefined, undefined, 0]);
    };
    isGone();
    let steps = 1;
    for (; graph.hashSome(); steps++) isGone();
    expect(steps).to.be.greaterThan(10);
    expect(toHex(graph.root())).to.equal(toHex(plain.root()));
  });

  it('has the right root in the middle of these steps, and after more writes', () => {
    const [graph, plain] = [new Graph(), new Graph()];
    for (let id = 1; id <= 2_000; id++)
      for (const each of [graph, plain]) each.apply({ ...add(id, id), recordId: 1 + (id % 2) } as GraphEvent);
    for (const recordId of [1, 2]) {
      graph.recordDeleted(recordId, 2_000 + recordId);
      graph.hashSome();
      plain.recordDeleted(recordId, 2_000 + recordId);
      while (plain.hashSome());
    }
    for (const each of [graph, plain]) each.apply(add(2_001, 2_003));
    expect(toHex(graph.root())).to.equal(toHex(plain.root()));
    for (const sequence of [2_001, 2_002])
      expect(toHex(graph.rootAt(sequence))).to.equal(toHex(plain.rootAt(sequence)));
    expect(graph.hashSome()).to.equal(false);
  });

  describe('with a node of more edges than a page', () => {
    const FAR = GRAPH_PAGE_MAX + 1;
    const graph = new Graph();
    before(() => {
      for (let n = 1; n <= FAR + 1; n++) graph.apply(add(n, n));
      for (let n = 1; n <= FAR; n++) graph.apply(edge(n, 1, n + 1, FAR + 1 + n));
    });
    /** A clock that advances 3 ms at every reading, so that each slice is used up. */
    const paceUntil = (deadlineMs: number): Slice => {
      let ms = 0;
      return new Slice({ monotonicMs: () => (ms += 3), nowMs: () => ms }, deadlineMs);
    };
    const ask = (call: GraphRead, deadlineMs = 1e9) => readGraph(graph, call, paceUntil(deadlineMs), () => undefined);
    const wide = { op: 'graphQuery', start: 1, direction: 'both', edgeKind: null, nodeKind: null, depth: 2 } as const;

    it('counts all hits, and returns the first in order', async () => {
      const { hits, count } = (await ask({ ...wide, limit: 3 })) as GraphResults['graphQuery'];
      expect(count).to.equal(FAR + 1);
      expect(hits.map(({ id, depth }) => [id, depth])).to.deep.equal([
        [1, 0],
        [2, 1],
        [3, 1],
      ]);
    });

    it('refuses an answer of more than a page, and returns it page by page', async () => {
      await expectCode(ask({ op: 'graphEdges', id: 1, offset: 0, limit: null }), 'validation_error');
      await expectCode(ask({ op: 'graphSubgraph', root: 1, depth: 1 }), 'validation_error');
      const page = await ask({ op: 'graphEdges', id: 1, offset: FAR - 2, limit: 5 });
      expect((page as GraphResults['graphEdges']).edges.map(({ id }) => id)).to.deep.equal([FAR - 1, FAR]);
      const rest = await ask({ op: 'graphEdges', id: 1, offset: 1, limit: null });
      expect((rest as GraphResults['graphEdges']).edges).to.have.length(GRAPH_PAGE_MAX);
    });

    it('yields during a walk, and ends it at its deadline', async () => {
      let turns = 0;
      let walking = true;
      const count = (): void => {
        turns++;
        if (walking) setImmediate(count);
      };
      setImmediate(count);
      await ask({ ...wide, limit: 1 });
      walking = false;
      expect(turns).to.be.above(20);
      await expectCode(ask({ ...wide, limit: 1 }, 10), 'unavailable');
    });
  });
});

/** Frames up to the write `sequence`: each write of this test is a frame. */
const framesUntil = (all: readonly Uint8Array[], sequence: number): readonly Uint8Array[] => all.slice(0, sequence);

function randomWrite(model: GraphModel, random: SeededRandom, n: number) {
  const node = (): number => 1 + random.int(model.nodesGiven + 1);
  const record = (): number => 1 + random.int(model.recordsGiven + 1);
  const dice = random.next();
  if (dice < 0.15) return model.insert(n);
  if (dice < 0.2) return { op: random.pick(['softDelete', 'delete'] as const), id: record() };
  if (dice < 0.45)
    return { op: 'addNode', kind: random.int(7), recordId: random.int(2) === 0 ? null : record() } as const;
  if (dice < 0.5) return { op: 'deleteNode', id: node() } as const;
  if (dice < 0.93) return { op: 'addEdge', from: node(), to: node(), kind: random.int(9) } as const;
  return { op: 'deleteEdge', id: 1 + random.int(model.edgesGiven + 1) } as const;
}
