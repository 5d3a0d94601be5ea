/** Worker threads: their priority, and outcomes of work on the way between threads. */
import { constants, setPriority } from 'node:os';
import { type ErrorCode, messageOf, VouchError } from '../errors/errors.js';
import { codeOf } from '../files/durable.js';

/**
 * Lowers the priority of the calling thread below the threads that answer requests, on systems with priorities of threads. A
 * helper (`isHelper`), which only shares the work of another thread, gets the lowest priority.
 */
export function giveWay({ isHelper = false } = {}): void {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  if (process.platform === 'linux') setPriority(isHelper ? PRIORITY_LOW : PRIORITY_BELOW_NORMAL);
}

/** A result or an error, which can be cloned. */
export type ThreadOutcome<Answer> =
  | { readonly ended: 'well'; readonly answer: Answer }
  | { readonly ended: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly ended: 'thrown'; readonly name: string; readonly message: string }
  /** `detail`: for the log. */
  | { readonly ended: 'badly'; readonly message: string; readonly detail: string };

/**
 * Makes the functions that pack and unpack outcomes. The other thread throws a VouchError, and an error of the classes in `kept`,
 * unchanged. It throws any other error as an Error of one line without paths, with the detail as its cause.
 */
export function outcomesOf(kept: Readonly<Record<string, new (message: string) => Error>>) {
  const pack = async <Answer>(work: () => Promise<Answer>): Promise<ThreadOutcome<Answer>> => {
    try {
      return { ended: 'well', answer: await work() };
    } catch (error) {
      const message = messageOf(error);
      const name = Object.keys(kept).find((each) => error instanceof kept[each]!);
      if (name !== undefined) return { ended: 'thrown', name, message };
      if (error instanceof VouchError) return { ended: 'refused', code: error.code, message };
      return { ended: 'badly', message: lineOf(error), detail: detailOf(error) };
    }
  };
  const unpack = <Answer>(outcome: ThreadOutcome<Answer>): Answer => {
    if (outcome.ended === 'well') return outcome.answer;
    if (outcome.ended === 'refused') throw new VouchError(outcome.code, outcome.message);
    if (outcome.ended === 'thrown') throw new kept[outcome.name]!(outcome.message);
    throw new Error(outcome.message, { cause: outcome.detail });
  };
  return { pack, unpack };
}

/** Returns one line. Errors of the system end with paths of the machine, which are left out. */
function lineOf(error: unknown): string {
  const [line = ''] = messageOf(error).split('\n');
  return codeOf(error) !== undefined && line.startsWith(`${codeOf(error)}: `) ? line.split(', ')[0]! : line;
}

/** Returns the cause of an error that was unpacked, else the stack. */
function detailOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return typeof error.cause === 'string' ? error.cause : (error.stack ?? error.message);
}
