/** Decodes the payload of an encrypted record. */
import { invalid } from '../contract/refusal.js';

/**
 * Accepts only canonical base64: the standard alphabet, padded, without unused bits. Throws `validation_error`, also for a
 * payload that is too large. No message repeats a part of it.
 */
export function decodedPayload(base64: string, bytesMax: number): Uint8Array {
  const tooLarge = `$.payload: at most ${bytesMax} bytes are allowed`;
  // Estimate the size before decoding; up to two characters of padding count as bytes.
  if (Math.floor((base64.length / 4) * 3) > bytesMax + 2) throw invalid(tooLarge);
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('base64') !== base64)
    throw invalid('$.payload is not base64 of the standard alphabet with padding');
  if (bytes.length > bytesMax) throw invalid(tooLarge);
  return Uint8Array.from(bytes);
}
