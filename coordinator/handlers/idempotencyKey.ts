import { requestIdBytes } from '../body/bounds.js';
import { invalid } from '../contract/refusal.js';
import { isHex32 } from '../contract/values.js';

/** The request id in an Idempotency-Key header; null where there is none. Throws `validation_error`. */
export function headerRequestId(header: string): Uint8Array | null {
  if (header === '') return null;
  if (!isHex32(header)) throw invalid('the Idempotency-Key header is not 32 hex characters');
  return requestIdBytes(header);
}
