// Covers: test/soak/checker/check.ts, test/soak/checker/graphModel.ts
/** The history checker on a graph: a right history, and one with each kind of violation. */
import { expect } from 'chai';
import { checkHistory } from '../../../../soak/checker/check.js';
import type { CollectionLog, LoggedEvent } from '../../../../soak/checker/log.js';
import type { AddEdgeCall, AddNodeCall, UnlinkCall } from '../../../../soak/history/graph.js';
import type { RemoveCall } from '../../../../soak/history/records.js';
import type { Call } from '../../../../soak/history.js';
import {
  A,
  ABSENT,
  asked,
  insertEvent,
  inserted,
  logOf,
  ok,
  type Times,
  UNKNOWN,
} from '../../../../support/rigs/handMadeHistory.js';

/**
 * 1: record 1; 2: node 1 of record 1; 3, 4: nodes 2, 3; 5, 6: edges 1 → 2 → 3; 7: deletion of edge 2; 8: deletion of
 * the record and of node 1.
 */
const EVENTS: readonly LoggedEvent[] = [
  insertEvent(1, A),
  { type: 'addNode', nodeId: 1, recordId: 1, kind: 0 },
  { type: 'addNode', nodeId: 2, recordId: null, kind: 1 },
  { type: 'addNode', nodeId: 3, recordId: null, kind: 2 },
  { type: 'addEdge', edgeId: 1, from: 1, to: 2, kind: 3 },
  { type: 'addEdge', edgeId: 2, from: 2, to: 3, kind: 4 },
  { type: 'deleteEdge', edgeId: 2 },
  { type: 'delete', recordId: 1 },
];
const LOG = logOf(EVENTS);

const node = (nodeId: number, kind: number, recordId: number | null, sequence: number): AddNodeCall => ({
  op: 'addNode',
  ...asked(timesOf(sequence)),
  ...{ kind, recordId },
  outcome: ok({ nodeId, sequence }),
});
const edge = (edgeId: number, from: number, to: number, kind: number, sequence: number): AddEdgeCall => ({
  op: 'addEdge',
  ...asked(timesOf(sequence)),
  ...{ from, to, kind },
  outcome: ok({ edgeId, sequence }),
});
/** The call of event s runs from 10s to 10s + 5. */
const timesOf = (sequence: number): Times => [10 * sequence, 10 * sequence + 5];

const WRITES = {
  insert: inserted(A, 1, 1, timesOf(1)),
  linked: node(1, 0, 1, 2),
  second: node(2, 1, null, 3),
  third: node(3, 2, null, 4),
  first: edge(1, 1, 2, 3, 5),
  last: edge(2, 2, 3, 4, 6),
  unlink: { op: 'deleteEdge', ...asked(timesOf(7)), id: 2, outcome: ok({ sequence: 7 }) } as UnlinkCall,
  remove: { op: 'delete', ...asked(timesOf(8)), id: 1, outcome: ok({ sequence: 8 }) } as RemoveCall,
};
const withReads = (...reads: readonly Call[]): Call[] => [...Object.values(WRITES), ...reads];
const writesWith = (other: Partial<Record<keyof typeof WRITES, Call>>): Call[] =>
  Object.values({ ...WRITES, ...other });

const wrong = (calls: readonly Call[], log: CollectionLog = LOG): Record<string, number> =>
  Object.fromEntries(checkHistory(calls, [log], { staleMs: 0, indexed: new Map() }).counts);

const NODES = [
  { id: 1, kind: 0, recordId: 1 },
  { id: 2, kind: 1, recordId: null },
  { id: 3, kind: 2, recordId: null },
];
const EDGES = [
  { id: 1, from: 1, to: 2, kind: 3 },
  { id: 2, from: 2, to: 3, kind: 4 },
];

const subgraph = (times: Times, root: number, depth: number, nodes: typeof NODES, edges: typeof EDGES): Call => ({
  op: 'subgraph',
  ...asked(times),
  ...{ root, depth },
  outcome: ok({ nodes, edges }),
});
const edgesOf = (times: Times, id: number, edges: typeof EDGES | undefined): Call => ({
  op: 'edges',
  ...asked(times),
  id,
  outcome: edges === undefined ? ABSENT : ok({ edges }),
});
const nodeAt = (times: Times, id: number, node: (typeof NODES)[number] | undefined): Call => ({
  op: 'getNode',
  ...asked(times),
  id,
  outcome: node === undefined ? ABSENT : ok(node),
});

describe('the history checker, on a graph', () => {
  it('accepts answers that were true at their time', () => {
    const calls = withReads(
      subgraph([66, 69], 1, 1, NODES.slice(0, 2), EDGES.slice(0, 1)),
      subgraph([66, 69], 1, 2, NODES, EDGES),
      subgraph([76, 79], 1, 2, NODES.slice(0, 2), EDGES.slice(0, 1)),
      edgesOf([66, 69], 2, EDGES.slice(1)),
      edgesOf([76, 79], 2, []),
      nodeAt([76, 79], 1, NODES[0]),
      nodeAt([90, 95], 1, undefined),
      edgesOf([90, 95], 1, undefined),
      { op: 'addNode', ...asked([90, 95]), kind: 1, recordId: 1, outcome: ABSENT },
      { op: 'addEdge', ...asked([90, 95]), from: 1, to: 2, kind: 1, outcome: ABSENT },
      { op: 'deleteEdge', ...asked([90, 95]), id: 1, outcome: ABSENT },
    );
    expect(wrong(calls)).to.deep.equal({});
    const open = writesWith({ second: { ...WRITES.second, outcome: UNKNOWN } });
    expect(wrong(open), 'a write of unknown outcome').to.deep.equal({});
  });

  it('reports stale answers, also after a cascading deletion', () => {
    const stale = [
      nodeAt([90, 95], 1, NODES[0]),
      edgesOf([90, 95], 1, EDGES.slice(0, 1)),
      subgraph([90, 95], 2, 2, NODES.slice(1), EDGES.slice(1)),
      { op: 'deleteNode', ...asked([76, 79]), id: 1, outcome: ABSENT } as Call,
    ];
    for (const [i, call] of stale.slice(0, 3).entries())
      expect(wrong(withReads(call)), `${i}`).to.deep.equal({ 'stale read': 1 });
    expect(wrong(withReads(stale[3]!)), 'it was there').to.have.all.keys('stale read');
  });

  it('reports a wrong node, a wrong edge and a wrong traversal', () => {
    for (const call of [
      nodeAt([66, 69], 2, { ...NODES[1]!, kind: 5 }),
      edgesOf([66, 69], 2, [{ ...EDGES[1]!, to: 1 }]),
      edgesOf([66, 69], 2, EDGES),
      subgraph([66, 69], 1, 1, NODES, EDGES),
    ])
      expect(wrong(withReads(call)), JSON.stringify(call)).to.deep.equal({ 'wrong answer': 1 });
  });

  it('reports a lost, a doubled and a refused write', () => {
    const lost = { ...WRITES.second, kind: 6, outcome: ok({ nodeId: 4, sequence: 9 }) };
    expect(wrong([...withReads(), lost])).to.deep.equal({ 'lost write': 1 });
    const doubled = logOf([...EVENTS, { type: 'addNode', nodeId: 4, recordId: null, kind: 1 }]);
    expect(wrong(withReads(), doubled), 'answered, and done once more').to.deep.equal({ 'doubled write': 1 });
    const unknown = { ...WRITES.second, outcome: UNKNOWN };
    expect(wrong(writesWith({ second: unknown }), doubled), 'unknown, and done twice').to.deep.equal({
      'doubled write': 1,
    });
    expect(wrong([...writesWith({ second: unknown }), unknown], doubled), 'asked for twice').to.deep.equal({});
    expect(wrong(writesWith({ first: { ...WRITES.first, outcome: ABSENT } }))).to.include({
      'refused write in the log': 1,
    });
    const otherId = { ...WRITES.third, outcome: ok({ nodeId: 7, sequence: 4 }) };
    expect(wrong(writesWith({ third: otherId }))).to.deep.equal({ 'wrong sequence': 1 });
  });
});
