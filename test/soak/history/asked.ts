/** What every call of a history has: who asked whom, when, and what came of it. */

/**
 * absent: what it is about is not there (404), which changes nothing and must be true; shredded: the key is destroyed (410,
 * or 400 of an insert under it), which must be true too; busy: another of its kind is under way (409); refused: any other
 * answer that says no; unknown: no answer, or one that leaves open whether the call had an effect.
 */
export type Outcome<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  | { readonly kind: 'absent' | 'shredded' | 'busy' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** The `collection` of a call that is about several of them, or about none. */
export const NO_ONE_COLLECTION = '*';

export interface Asked<Op extends string, Answer> {
  readonly op: Op;
  readonly collection: string;
  readonly client: number;
  /** The coordinator that was asked. */
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
