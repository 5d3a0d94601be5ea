/** Errors that may be shown to a caller, and the functions that make them. Their codes are in `errorTable.ts`. */

import { ERRORS, type ErrorCode, type MessageName, messageText, type Values } from './errorTable.js';

export type { ErrorCode };

/** `Retry-After` of an error `unavailable`, in seconds, unless the error has its own. */
export const UNAVAILABLE_RETRY_SECS = 1;

/**
 * An error that may be shown to a caller. The message says what is wrong and, if possible, what to do next. It never contains
 * a key, a payload or a path of the machine.
 */
export class VouchError extends Error {
  override name = 'VouchError';
  /** Whole seconds after which a retry makes sense; sent as `Retry-After`. */
  readonly retryAfterSecs: number | undefined;

  constructor(
    readonly code: ErrorCode,
    message: string,
    options: { retryAfterSecs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterSecs = options.retryAfterSecs ?? (code === 'unavailable' ? UNAVAILABLE_RETRY_SECS : undefined);
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/** The error with a message of the table. */
export const refusal = <Code extends ErrorCode, Message extends MessageName<Code>>(
  code: Code,
  message: Message,
  ...values: Values<Code, Message>
): VouchError => new VouchError(code, messageText(code, message, ...values));

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

export const unavailable = (message: string, cause?: unknown): VouchError =>
  new VouchError('unavailable', message, { cause });

export const isUnavailable = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'unavailable';

export const isCollectionNotFound = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'collection_not_found';

export const isForbidden = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'forbidden';

/** For the `default` of a `switch` that has handled every case: a new case then fails to compile. */
export function unreachable(value: never): never {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
