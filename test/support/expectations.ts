/** Expectations of the conformance suites about failures, and about events that take a moment. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../shared/clock.js';
import { type ErrorCode, VouchError } from '../../shared/errors/errors.js';
import { PATIENCE_MS, pauseMs } from './patience.js';

/** The error with which the promise rejects; fails if it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const settled = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in settled) {
    expect(settled.error).to.be.instanceOf(Error);
    return settled.error as Error;
  }
  throw new Error(`expected a rejection, got ${String(settled.value)}`);
}

export async function expectCode(promise: Promise<unknown>, code: ErrorCode): Promise<VouchError> {
  const error = await rejection(promise);
  expect(error, error.stack ?? '').to.be.instanceOf(VouchError);
  expect((error as VouchError).code, error.message).to.equal(code);
  return error as VouchError;
}

/** Resolves once `condition` holds. Fails with `what` after `PATIENCE_MS`. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  while (!(await condition())) {
    const waitedMs = systemClock.monotonicMs() - beganMs;
    if (waitedMs > PATIENCE_MS) throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    await delay(pauseMs(waitedMs));
  }
}

/** A promise and the function that fulfils it, to keep something open for as long as a test needs. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
