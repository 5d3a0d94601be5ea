/** Repeats work that servers cannot do for a while after a kill. */
import { eventually } from '../expectations.js';

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
