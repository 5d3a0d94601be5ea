/** The request ids of a commit in progress, on top of those that the collection remembers. */
import { refusal } from '../../shared/errors/errors.js';
import { byteKey } from './byteKey.js';
import { type AppliedRequest, type DedupWindow, NO_RECORD } from './dedupWindow.js';
import { assertRequestId } from './eventLimits.js';

/** Returns the key of a request id. Throws `validation_error` if the id has another length than events take. */
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

  /** Returns the write with this request id. Throws `validation_error` if it belongs to a deletion. */
  write(key: string | undefined): AppliedRequest | undefined {
    const found = this.#find(key);
    if (found?.recordId === NO_RECORD) throw refusal('validation_error', 'usedByDeletion');
    return found;
  }

  /**
   * Returns the sequence of the event that ended the deletions with this request id. Throws `validation_error` if it
   * belongs to an insert.
   */
  deletion(key: string | undefined): number | undefined {
    const found = this.#find(key);
    if (found === undefined || found.recordId === NO_RECORD) return found?.sequence;
    throw refusal('validation_error', 'usedByWrite', { record: found.recordId });
  }

  /** Returns the items that make no new record, including those whose key occurs earlier in the batch. */
  replayed(keys: readonly (string | undefined)[]): ReadonlySet<number> {
    const seen = new Set<string>();
    const replayed = new Set<number>();
    for (const [i, key] of keys.entries()) {
      if (key === undefined) continue;
      if (seen.has(key) || this.write(key) !== undefined) replayed.add(i);
      seen.add(key);
    }
    return replayed;
  }

  #find(key: string | undefined): AppliedRequest | undefined {
    return key === undefined ? undefined : (this.#planned.get(key) ?? this.remembered.find(key));
  }
}
