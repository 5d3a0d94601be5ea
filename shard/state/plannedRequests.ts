/** The request ids of a commit that is being built, in front of those that the collection remembers. */
import { VouchError } from '../../shared/errors/errors.js';
import { byteKey } from './byteKey.js';
import { type AppliedRequest, type DedupWindow, NO_RECORD } from './dedupWindow.js';
import { assertRequestId } from './eventLimits.js';
import { usedByDeletion } from './refusals.js';

/** Throws `validation_error` if the request id has another length than events take. */
export function keyOf(requestId: Uint8Array | null): string | undefined {
  if (requestId === null) return undefined;
  assertRequestId(requestId);
  return byteKey(requestId);
}

export class PlannedRequests {
  readonly #planned = new Map<string, AppliedRequest>();

  constructor(private readonly remembered: DedupWindow) {}

  add(key: string, request: AppliedRequest): void {
    this.#planned.set(key, request);
  }

  /** The write of a record under this request id. Throws `validation_error` if a deletion has it. */
  write(key: string | undefined): AppliedRequest | undefined {
    const found = this.#find(key);
    if (found?.recordId === NO_RECORD) throw usedByDeletion();
    return found;
  }

  /** The sequence of the event that ends the deletions under this request id. Throws `validation_error` if an insert has it. */
  deletion(key: string | undefined): number | undefined {
    const found = this.#find(key);
    if (found === undefined || found.recordId === NO_RECORD) return found?.sequence;
    throw new VouchError('validation_error', `the request id belongs to the write of record ${found.recordId}`);
  }

  #find(key: string | undefined): AppliedRequest | undefined {
    return key === undefined ? undefined : (this.#planned.get(key) ?? this.remembered.find(key));
  }
}
