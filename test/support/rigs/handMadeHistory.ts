/** A short hand-made history, the log that it fits, and parts to make others. */
import { toHex } from '../../../verifier/bytes.js';
import { type CollectionLog, type InsertEvent, type LoggedEvent, stateHashAt } from '../../soak/checker/log.js';
import type { Outcome } from '../../soak/history/asked.js';
import type { BatchCall, GetCall, InsertCall, RemoveCall, Row, UpdateCall } from '../../soak/history/records.js';
import type { SearchCall } from '../../soak/history/searches.js';
import type { Call } from '../../soak/history.js';

const COLLECTION = 'a';
export const rowOf = (mark: number, vector: readonly number[], color = 0): Row => ({
  vector,
  metadata: { color, mark },
  text: null,
  requestId: mark.toString(16).padStart(32, '0'),
});

export const insertEvent = (recordId: number, { vector, metadata, text, requestId }: Row): InsertEvent => ({
  type: 'insert',
  recordId,
  requestId,
  vector,
  metadata,
  text,
});

/** A log with invented hashes in place of a verified log's. */
export function logOf(
  events: readonly LoggedEvent[],
  stateRoots = new Map<number, string>(),
  collection = COLLECTION,
): CollectionLog {
  const hash = (sequence: number): Buffer => Buffer.alloc(32, 1 + sequence);
  return {
    collection,
    refusal: undefined,
    isNormalised: false,
    configHash: Buffer.alloc(32, 0xcc),
    genesis: { chainHead: hash(0), timeMs: 1n },
    entries: events.map((event, i) => ({
      ...{ event, chainHead: hash(i + 1), timeMs: BigInt(i + 2) },
      graphRoot: Buffer.alloc(32),
    })),
    stateRoots,
    sizeBytes: 0,
  };
}

/** Invented too: the root of the state after an event. */
export const rootAt = (sequence: number): string => Buffer.alloc(32, 100 + sequence).toString('hex');

export type Times = readonly [startMs: number, endMs: number];
export const asked = ([startMs, endMs]: Times) => ({ collection: COLLECTION, client: 1, via: 'c1', startMs, endMs });
export const ok = <A>(answer: A): Outcome<A> => ({ kind: 'ok', answer });
export const UNKNOWN = { kind: 'unknown', why: 'no answer' } as const;
export const ABSENT = { kind: 'absent' } as const;

export const [A, B, C, D] = [rowOf(1, [0, 0]), rowOf(2, [3, 4], 1), rowOf(4, [1, 0]), rowOf(5, [9, 9])];
export const CHANGED = { color: 2, mark: 3 };

/** 1, 2: A and B; 3: soft delete of A; 4: B changes its colour; 5, 6: C and D in one batch; 7: C is deleted. */
export const EVENTS: readonly LoggedEvent[] = [
  insertEvent(1, A),
  insertEvent(2, B),
  { type: 'softDelete', recordId: 1 },
  { type: 'updateMetadata', recordId: 2, metadata: CHANGED },
  insertEvent(3, C),
  insertEvent(4, D),
  { type: 'delete', recordId: 3 },
];
export const LOG = logOf(EVENTS);

/** Inserts whose receipts are those of a log. */
export const insertedIn =
  (log: typeof LOG) =>
  (row: Row, id: number, sequence: number, times: Times): InsertCall => {
    const stateHash = stateHashAt(log, sequence, rootAt(sequence)) ?? '';
    const receipt = { recordId: id, sequence, oldRoot: rootAt(sequence - 1), newRoot: rootAt(sequence), stateHash };
    const answer = { id, deduplicated: false, receipt: { ...receipt, problems: [] } };
    return { op: 'insert', ...asked(times), row, outcome: ok(answer) };
  };

export const inserted = insertedIn(LOG);

export const search = (
  times: Times,
  query: readonly number[],
  k: number,
  hits: readonly (readonly number[])[],
): SearchCall => ({
  op: 'search',
  ...asked(times),
  query,
  k,
  color: null,
  isEventual: false,
  asOf: null,
  outcome: ok({ ids: hits.map(([id]) => id!), scores: hits.map(([, score]) => score!), sequence: undefined }),
});

export const eventual = (call: SearchCall, sequence: number): SearchCall =>
  call.outcome.kind === 'ok'
    ? { ...call, isEventual: true, outcome: ok({ ...call.outcome.answer, sequence }) }
    : { ...call, isEventual: true };

export const got = (times: Times, id: number, row: Row | undefined): GetCall => ({
  op: 'get',
  ...asked(times),
  id,
  outcome: row === undefined ? ABSENT : ok({ vector: row.vector, metadata: row.metadata }),
});

export const WRITES = {
  a: inserted(A, 1, 1, [0, 10]),
  b: inserted(B, 2, 2, [5, 20]),
  softDelete: { op: 'softDelete', ...asked([30, 40]), id: 1, since: null, outcome: ok({ sequence: 3 }) } as Call,
  update: {
    op: 'updateMetadata',
    ...asked([50, 60]),
    id: 2,
    since: null,
    metadata: CHANGED,
    outcome: ok({ sequence: 4 }),
  } as UpdateCall,
  batch: { op: 'insertBatch', ...asked([70, 80]), rows: [C, D], outcome: ok({ ids: [3, 4] }) } as BatchCall,
  remove: { op: 'delete', ...asked([90, 100]), id: 3, since: null, outcome: ok({ sequence: 7 }) } as RemoveCall,
};
type Writes = Record<keyof typeof WRITES, Call>;
export const writesWith = (other: Partial<Writes>): Call[] => Object.values({ ...WRITES, ...other });

export const withReads = (...reads: readonly Call[]): Call[] => [...Object.values(WRITES), ...reads];

export const stateAt = (sequence: number) => ({
  sequence,
  stateRoot: rootAt(sequence),
  stateHash: stateHashAt(LOG, sequence, rootAt(sequence)) ?? '',
  chainHead: toHex(LOG.entries[sequence - 1]!.chainHead),
});
