/**
 * The Idempotency-Key header: the request id of an insert or a deletion, or the source of the request ids of a batch. Whether an
 * id was used before is decided by the owner: see `shard/state/plannedRequests.ts`.
 */
import { DOMAIN, hash } from '../../shared/hashing/hash.js';
import { REQUEST_ID_BYTES } from '../../shared/limits.js';
import { requestIdBytes } from '../body/bounds.js';
import { invalid } from '../contract/refusal.js';
import { isHex32 } from '../contract/values.js';

/** The request id in the header; null without one. Throws `validation_error`. */
export function headerRequestId(header: string | undefined): Uint8Array | null {
  if (header === undefined) return null;
  if (!isHex32(header)) throw invalid('the Idempotency-Key header is not 32 hex characters');
  return requestIdBytes(header);
}

/** The request id of a request, from the header or the body. Throws `validation_error`, also if they differ. */
export function bodyRequestId(header: string | undefined, inBody: Uint8Array | null): Uint8Array | null {
  const inHeader = headerRequestId(header);
  if (inHeader === null || inBody === null) return inBody ?? inHeader;
  if (Buffer.compare(inHeader, inBody) !== 0)
    throw invalid('$.request_id: expected the same request id as in the Idempotency-Key header');
  return inBody;
}

/**
 * The request ids of a batch of `count` items: from the body, or derived from the header. The id of item i is then the first 16
 * bytes of H(0x20 ‖ key ‖ u64 i). Throws `validation_error`.
 */
export function batchRequestIds(
  header: string | undefined,
  count: number,
  inBody: readonly (Uint8Array | null)[] | null,
): readonly (Uint8Array | null)[] | null {
  const key = headerRequestId(header);
  if (key === null) return inBody;
  const message = Buffer.alloc(1 + REQUEST_ID_BYTES + BigUint64Array.BYTES_PER_ELEMENT);
  message.writeUInt8(DOMAIN.batchItem);
  message.set(key, 1);
  return Array.from({ length: count }, (_, i) => {
    message.writeUIntLE(i, 1 + REQUEST_ID_BYTES, 6);
    return inBody?.[i] ?? hash(message).slice(0, REQUEST_ID_BYTES);
  });
}

/** Throws `validation_error` if the header is there: this request would be carried out twice. */
export function refuseIdempotencyKey(header: string | undefined): void {
  if (header !== undefined) throw invalid('this request cannot be repeated safely: it takes no Idempotency-Key header');
}
