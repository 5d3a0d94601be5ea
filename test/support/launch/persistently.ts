/** For work that servers may be unable to do for a while, since some have just been killed. */
import { eventually } from '../expectations.js';

/** Again and again until it comes through; fails with the last problem. */
export async function persistently<T>(work: () => Promise<T>): Promise<T> {
  let outcome: { value: T } | { problem: unknown } = { problem: undefined };
  const attempt = async (): Promise<boolean> => {
    outcome = await work().then(
      (value) => ({ value }),
      (problem: unknown) => ({ problem }),
    );
    return 'value' in outcome;
  };
  await eventually('it comes through', attempt).catch(() => undefined);
  // Assigned in a closure, which the compiler does not follow.
  const last = outcome as { value: T } | { problem: unknown };
  if ('value' in last) return last.value;
  throw last.problem;
}
