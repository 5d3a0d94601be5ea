/** How errors pass from a worker to the owner's thread: what they are matters there, and their text is shown to callers. */
import { codeOf } from '../../../shared/durable.js';
import { messageOf, unreachable } from '../../../shared/errors.js';
import { DamagedGeneration, UnknownGeneration } from '../store/damagedGeneration.js';
import { Cancelled } from './progress.js';

export type Outcome<Answer> =
  | { readonly ended: 'well'; readonly answer: Answer }
  | { readonly ended: 'cancelled' }
  | { readonly ended: 'damaged' | 'unknown'; readonly reason: string }
  /** `detail`: for the log. */
  | { readonly ended: 'badly'; readonly reason: string; readonly detail: string };

export async function outcomeOf<Answer>(work: () => Promise<Answer>): Promise<Outcome<Answer>> {
  try {
    return { ended: 'well', answer: await work() };
  } catch (error) {
    if (error instanceof Cancelled) return { ended: 'cancelled' };
    if (error instanceof DamagedGeneration) return { ended: 'damaged', reason: error.message };
    if (error instanceof UnknownGeneration) return { ended: 'unknown', reason: error.message };
    return { ended: 'badly', reason: reasonOf(error), detail: detailOf(error) };
  }
}

/** Throws what the work threw: Cancelled, DamagedGeneration, UnknownGeneration, or an Error whose cause is the detail. */
export function answerOf<Answer>(outcome: Outcome<Answer>): Answer {
  switch (outcome.ended) {
    case 'well':
      return outcome.answer;
    case 'cancelled':
      throw new Cancelled();
    case 'damaged':
      throw new DamagedGeneration(outcome.reason);
    case 'unknown':
      throw new UnknownGeneration(outcome.reason);
    case 'badly':
      throw new Error(outcome.reason, { cause: outcome.detail });
    default:
      return unreachable(outcome);
  }
}

/** One line. What the system says ends with paths of the machine: they are left out. */
function reasonOf(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n');
  return codeOf(error) !== undefined && line.startsWith(`${codeOf(error)}: `) ? line.split(', ')[0]! : line;
}

/** What comes of another outcome has it already. */
function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return typeof error.cause === 'string' ? error.cause : (error.stack ?? error.message);
}
