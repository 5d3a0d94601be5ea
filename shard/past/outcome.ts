/** How errors pass between the threads: what they are matters on the other side, and their text is shown to callers. */
import { type ErrorCode, messageOf, unreachable, VouchError } from '../../shared/errors.js';
import { Damaged, noticingDamage } from '../collection/damaged.js';

export type Outcome<Answer> =
  | { readonly ended: 'well'; readonly answer: Answer }
  | { readonly ended: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly ended: 'damaged'; readonly reason: string }
  /** `detail`: for the log. */
  | { readonly ended: 'badly'; readonly reason: string; readonly detail: string };

export async function outcomeOf<Answer>(work: () => Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { ended: 'well', answer: await noticingDamage(work) };
  } catch (error) {
    if (error instanceof Damaged) return { ended: 'damaged', reason: error.message };
    if (error instanceof VouchError) return { ended: 'refused', code: error.code, message: error.message };
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { ended: 'badly', reason: messageOf(error), detail };
  }
}

/** Throws what the work threw: VouchError, Damaged, or an Error whose cause is the detail. */
export function answerOf<Answer>(outcome: Outcome<Answer>): Answer {
  switch (outcome.ended) {
    case 'well':
      return outcome.answer;
    case 'refused':
      throw new VouchError(outcome.code, outcome.message);
    case 'damaged':
      throw new Damaged(outcome.reason);
    case 'badly':
      throw new Error(outcome.reason, { cause: outcome.detail });
    default:
      return unreachable(outcome);
  }
}
