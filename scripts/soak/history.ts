/**
 * What the clients of a soak asked and were told. Times are milliseconds of the one monotonic clock of the process that
 * makes the load: a call may have taken effect at any moment from its start on, and, where it was answered, before its end.
 */

/** Told apart by `mark`, which no other row and no other change of the run has. */
export interface Metadata {
  readonly color: number;
  readonly mark: number;
}

export interface Row {
  /** Whole numbers, so that every distance is exact. */
  readonly vector: readonly number[];
  readonly metadata: Metadata;
  /** 32 hex digits; null: never sent twice. */
  readonly requestId: string | null;
}

/** A receipt as it was told, without its proof: that was checked when it came. */
export interface ReceiptClaim {
  readonly recordId: number;
  readonly sequence: number;
  readonly oldRoot: string;
  readonly newRoot: string;
  readonly stateHash: string;
  /** Why the receipt does not hold by itself; empty where it does. */
  readonly problems: readonly string[];
}

/**
 * absent: the record is not there (404), which changes nothing and must be true; refused: any other answer that says no;
 * unknown: no answer, or one that leaves open whether the call had an effect.
 */
export type Outcome<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  | { readonly kind: 'absent' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

interface Asked<Op extends string, Answer> {
  readonly op: Op;
  readonly collection: string;
  readonly client: number;
  /** The coordinator that was asked. */
  readonly via: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome<Answer>;
}

export interface InsertCall
  extends Asked<'insert', { readonly id: number; readonly deduplicated: boolean; readonly receipt: ReceiptClaim }> {
  readonly row: Row;
}

export interface BatchCall extends Asked<'insertBatch', { readonly ids: readonly number[] }> {
  readonly rows: readonly Row[];
}

export interface RemoveCall extends Asked<'softDelete' | 'delete', { readonly sequence: number }> {
  readonly id: number;
}

export interface UpdateCall extends Asked<'updateMetadata', { readonly sequence: number }> {
  readonly id: number;
  readonly metadata: Metadata;
}

export interface GetCall extends Asked<'get', { readonly vector: readonly number[]; readonly metadata: unknown }> {
  readonly id: number;
}

export interface SearchAnswer {
  readonly ids: readonly number[];
  readonly scores: readonly number[];
  /** Of the state that was searched, where the answer tells it. */
  readonly sequence: number | undefined;
}

export interface SearchCall extends Asked<'search', SearchAnswer> {
  readonly query: readonly number[];
  readonly k: number;
  /** Only records of this colour; null: all. */
  readonly color: number | null;
  readonly isEventual: boolean;
}

export interface StateCall
  extends Asked<
    'state',
    { readonly sequence: number; readonly stateHash: string; readonly stateRoot: string; readonly chainHead: string }
  > {}

export interface TimelineCall
  extends Asked<
    'timeline',
    {
      readonly total: number;
      readonly events: readonly { readonly sequence: number; readonly type: string; readonly recordId: number }[];
    }
  > {
  readonly after: number;
  readonly limit: number;
}

export type WriteCall = InsertCall | BatchCall | RemoveCall | UpdateCall;
export type ReadCall = GetCall | SearchCall | StateCall | TimelineCall;
export type Call = WriteCall | ReadCall;

export const isWrite = (call: Call): call is WriteCall =>
  call.op === 'insert' ||
  call.op === 'insertBatch' ||
  call.op === 'softDelete' ||
  call.op === 'delete' ||
  call.op === 'updateMetadata';

/** For people: who asked what, when, and what came of it. */
export function describeCall(call: Call): string {
  const { op, client, via, startMs, endMs, outcome, collection, ...what } = call;
  const result = outcome.kind === 'ok' ? JSON.stringify(outcome.answer) : JSON.stringify(outcome);
  const times = `${startMs.toFixed(1)}–${endMs.toFixed(1)} ms`;
  return `client ${client} via ${via}, ${times}: ${op} of ${collection} ${JSON.stringify(what)} → ${result}`;
}
