/** Compares two collections of one log in everything that can be asked. */
import { expect } from 'chai';
import type { ReadCall, Results } from '../../../shared/protocol/calls.js';
import { fixed, soon, type TestCollection } from './engine.js';

/** Asks both about the present, each event, and each past state. */
export async function expectSameAnswers(one: TestCollection, other: TestCollection): Promise<void> {
  const { sequence } = (await one.hosted.run({ op: 'describe' }, soon())) as Results['describe'];
  for (const call of callsUpTo(sequence)) {
    const answers = [one, other].map(async ({ hosted }) => {
      try {
        return await hosted.run(call, soon());
      } catch (error) {
        return (error as Error).message;
      }
    });
    const [first, second] = await Promise.all(answers);
    expect(first, JSON.stringify(call)).to.deep.equal(second);
  }
}

function callsUpTo(sequence: number): ReadCall[] {
  const query = fixed(1, 2);
  const calls: ReadCall[] = [
    { op: 'describe' },
    { op: 'proofState' },
    { op: 'timeline', fromMs: 0, toMs: 8e15, after: 0, limit: 1_000 },
    { op: 'graphNodes', kind: null, offset: 0, limit: 1_000 },
    { op: 'readLog', from: 0, maxBytes: 1 << 24 },
  ];
  for (let id = 1; id <= sequence; id++) {
    calls.push(
      { op: 'get', id },
      { op: 'getEncrypted', id },
      { op: 'proofReceipt', sequence: id },
      { op: 'proofInclusion', sequence: id, size: null },
      { op: 'proofConsistency', from: id >> 1, to: id },
      { op: 'graphNode', id },
      { op: 'graphEdges', id, offset: 0, limit: null },
      { op: 'search', query, k: 100, asOf: { logIndex: id } },
      { op: 'search', query, k: 100, asOf: { logIndex: id }, text: { query: 'amber dune', hybrid: true } },
    );
  }
  const documents = ['d1', 'd2', 'ď3', 'd4', 'd5', 'd6', 'none'];
  calls.push({
    op: 'getRecords',
    of: { externalIds: documents },
    fields: ['vector', 'text', 'metadata', 'log_index'],
    maxBytes: 1 << 20,
  });
  const filter = { op: 'test', path: ['n'], test: { kind: 'lte', value: 2 } } as const;
  calls.push(
    { op: 'search', query, k: 100 },
    { op: 'search', query, k: 100, filter },
    { op: 'search', query, k: 100, filter, text: { query: 'cedar', hybrid: true } },
    { op: 'search', query, k: 100, filter, asOf: { logIndex: sequence >> 1 } },
    { op: 'search', query, k: 100, decay: { halfLifeSecs: 60, nowMs: 1_800_000_000_000 } },
  );
  return calls;
}
