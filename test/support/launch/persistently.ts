/** Repeats work that servers cannot do for a while after a kill. */
import { eventually } from '../expectations.js';
import type { Answer } from './client.js';

/** Repeats the work until it succeeds; fails with its last problem. */
export async function persistently<T>(work: () => Promise<T>): Promise<T> {
  let outcome: { value: T } | { problem: unknown } = { problem: undefined };
  const attempt = async (): Promise<boolean> => {
    outcome = await work().then(
      (value) => ({ value }),
      (problem: unknown) => ({ problem }),
    );
    return 'value' in outcome;
  };
  await eventually('it succeeds', attempt).catch(() => undefined);
  // It is assigned in a closure, which the compiler does not follow.
  const last = outcome as { value: T } | { problem: unknown };
  if ('value' in last) return last.value;
  throw last.problem;
}

/** Repeats a request while the service cannot be reached or answers 503: it may still be recovering. */
export const onceServed = (ask: () => Promise<Answer>): Promise<Answer> =>
  persistently(async () => {
    const answer = await ask();
    if (answer.status === 503) throw new Error(answer.text);
    return answer;
  });
