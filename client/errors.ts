/** The errors of the client: one class for each `code` of the API, and the errors of requests without an answer. */

export interface ErrorFacts {
  /** The status of the answer; undefined if there was none. */
  readonly status?: number | undefined;
  /** The `x-request-id` of the answer, which is in the log lines of the service. */
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** The batch that an `insertMany` could not insert. Batches that were sent at the same time may be inserted. */
export interface FailedBatch {
  /** The position of the batch's first record in the iterable. A path such as `$.batch[3]` counts from it. */
  readonly offset: number;
  readonly records: number;
  /** The number of inserted records in all batches; they stay. */
  readonly inserted: number;
}

/** Any failure of a call. Branch on the class or on `code`; `message` says what is wrong and what can be done. */
export class VouchError extends Error {
  /** Set by `insertMany`. */
  batch?: FailedBatch;
  readonly status: number | undefined;
  readonly requestId: string | undefined;

  constructor(
    readonly code: string,
    message: string,
    { status, requestId, cause }: ErrorFacts = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.status = status;
    this.requestId = requestId;
  }
}

/** The body, a path or a query value is invalid; the message names the path, such as `$.query[3]`. */
export class ValidationError extends VouchError {}
/** The length of a vector is not the dimension of the collection. */
export class DimensionMismatchError extends VouchError {}
/** An index kind that does not exist. */
export class InvalidIndexError extends VouchError {}
/** No valid key. */
export class UnauthorizedError extends VouchError {}
/** The scope of the key does not allow the request. */
export class ForbiddenError extends VouchError {}
/** No such path, node or edge. */
export class NotFoundError extends VouchError {}
/** No such collection in the project. */
export class CollectionNotFoundError extends VouchError {}
/** No such live record. */
export class RecordNotFoundError extends VouchError {}
/** The path takes other methods. */
export class MethodNotAllowedError extends VouchError {}
/** The request does not fit the present state: another dimension, a build or an import in progress. */
export class ConflictError extends VouchError {}
/** The key of the encrypted record was shredded. */
export class RecordShreddedError extends VouchError {}
/** The entries of the access log were removed. */
export class EntriesRemovedError extends VouchError {}
/** The body, or the commit that it would make, is too large. */
export class PayloadTooLargeError extends VouchError {}
/** The `Content-Type` is not the expected one. */
export class UnsupportedMediaTypeError extends VouchError {}
/** Over the rate limit. */
export class RateLimitedError extends VouchError {}
/** The service failed, or stored bytes do not verify. */
export class InternalError extends VouchError {}
/** Indexes are turned off. */
export class NotImplementedError extends VouchError {}
/** The service cannot do the request now. */
export class UnavailableError extends VouchError {}
/** The project's records, bytes or collections are at their bound. */
export class CapacityExceededError extends VouchError {}

/** The connection broke, or none could be made. A request that changes something may have been carried out. */
export class ConnectionError extends VouchError {}
/** The deadline passed; `cause` is the failure of the last attempt, if there was one. */
export class DeadlineError extends VouchError {}
/** The answer does not come from the service: a proxy may have made it. */
export class UnexpectedAnswerError extends VouchError {}
/** The build of an index failed. */
export class IndexBuildError extends VouchError {}
/** A receipt, proof or checkpoint is not valid. */
export class ProofError extends VouchError {}
/** The log of a collection does not continue the pinned checkpoint. */
export class HistoryRewrittenError extends VouchError {}

type ErrorClass = new (code: string, message: string, facts?: ErrorFacts) => VouchError;

/** The class of each code in answers of the service. */
export const ERROR_CLASSES: Readonly<Record<string, ErrorClass>> = {
  validation_error: ValidationError,
  dimension_mismatch: DimensionMismatchError,
  invalid_index: InvalidIndexError,
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  collection_not_found: CollectionNotFoundError,
  record_not_found: RecordNotFoundError,
  method_not_allowed: MethodNotAllowedError,
  conflict: ConflictError,
  record_shredded: RecordShreddedError,
  entries_removed: EntriesRemovedError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  rate_limited: RateLimitedError,
  internal_error: InternalError,
  not_implemented: NotImplementedError,
  unavailable: UnavailableError,
  capacity_exceeded: CapacityExceededError,
};

const RATE_LIMITED = 429;

/** The error that an answer reports. `body`: its JSON, or undefined if the answer is not JSON. */
export function errorOf(status: number, body: unknown, requestId: string | undefined): VouchError {
  const { code, error } = (body ?? {}) as { code?: unknown; error?: unknown };
  // Over the rate limit the service answers without a code.
  const name = typeof code === 'string' ? code : status === RATE_LIMITED ? 'rate_limited' : 'unexpected_answer';
  const message = typeof error === 'string' ? error : `the answer has status ${status} and is not from the service`;
  const Class = name === 'unexpected_answer' ? UnexpectedAnswerError : (ERROR_CLASSES[name] ?? VouchError);
  return new Class(name, message, { status, requestId });
}
