/** One kind of call: its HTTP request, and its answer in the history. */

import type { AnswerOf } from '../../history/asked.js';
import type { Call } from '../../history.js';

type BeforeIt<C> = C extends Call ? Omit<C, 'client' | 'requestId' | 'via' | 'startMs' | 'endMs' | 'outcome'> : never;

/** A call before it is made. */
export type Wanted<C extends Call = Call> = BeforeIt<C>;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
  /** Content type of the body; undefined: JSON. */
  readonly type?: string;
  /** Key of a request without room for a request id in its body. */
  readonly idempotencyKey?: string | null;
}

/** `B`: type of the answer's body, as far as it is read. */
export interface Way<C extends Call, B> {
  request(wanted: Wanted<C>): HttpRequest;
  answer(body: B, wanted: Wanted<C>): AnswerOf<C>;
  /** Allowed refusals, by status and code. */
  readonly noes?: Readonly<Record<string, 'absent' | 'shredded' | 'changed' | 'busy'>>;
}

export const post = (path: string, body: object): HttpRequest => ({ method: 'POST', path, body });
export const get = (path: string): HttpRequest => ({ method: 'GET', path });

export const NO_RECORD = { '404 record_not_found': 'absent' } as const;
/** Refusals of a write of one record on a condition. */
export const NOT_DONE = { ...NO_RECORD, '409 conflict': 'changed' } as const;
export const NOTHING = { '404 not_found': 'absent' } as const;
