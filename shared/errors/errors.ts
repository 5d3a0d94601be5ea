/**
 * The one registry of error codes. A handler names a code; the status follows from this table, and
 * a test holds the table, the OpenAPI document and docs/api.md together.
 */

export const ERROR_STATUS = {
  validation_error: 400,
  dimension_mismatch: 400,
  invalid_index: 400,
  unauthorized: 401,
  forbidden: 403,
  collection_not_found: 404,
  record_not_found: 404,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  record_shredded: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  not_implemented: 501,
  unavailable: 503,
  capacity_exceeded: 507,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/**
 * An error that may be shown to a caller. The message says what is wrong and, where it can, what to do
 * next; it never holds a key, a payload or a path of the machine.
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
    this.retryAfterSecs = options.retryAfterSecs ?? (code === 'unavailable' ? 1 : undefined);
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERROR_STATUS, code);

export const unavailable = (message: string, cause?: unknown): VouchError =>
  new VouchError('unavailable', message, { cause });

export const isUnavailable = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'unavailable';

export const isCollectionNotFound = (error: unknown): error is VouchError =>
  error instanceof VouchError && error.code === 'collection_not_found';

/** For the `default` of a `switch` that has handled every case: a new case then fails to compile. */
export function unreachable(value: never): never {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
