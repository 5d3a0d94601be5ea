/** Common part of every call: the client, the coordinator, the time, and the outcome. */

/**
 * The outcome of a call. If `absent`, `shredded` or `changed`, this must be true, and the call changes nothing.
 *
 * ```text
 * absent    its subject does not exist (404)
 * shredded  the key is destroyed (410, or 400 for an insert under it)
 * changed   a record has changed since the event that the call names (409)
 * busy      another call of its kind is running (409)
 * refused   any other refusal
 * unknown   no answer, or one that leaves open whether the call had an effect
 * ```
 */
export type Outcome<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  | { readonly kind: 'absent' | 'shredded' | 'changed' | 'busy' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** The `collection` of a call about several collections, or about none. */
export const NO_ONE_COLLECTION = '*';

export interface Asked<Op extends string, Answer> {
  readonly op: Op;
  readonly collection: string;
  readonly client: number;
  /** Undefined: a shard was asked, or a collection is being created. */
  readonly requestId?: string;
  /** Coordinator that was asked. */
  readonly via: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome<Answer>;
}

export type AnswerOf<C extends { readonly outcome: Outcome<unknown> }> = Extract<
  C['outcome'],
  { readonly kind: 'ok' }
>['answer'];

export function answerOf<C extends { readonly outcome: Outcome<unknown> }>(call: C): AnswerOf<C> {
  if (call.outcome.kind !== 'ok') throw new Error('the call was not answered');
  return call.outcome.answer as AnswerOf<C>;
}
