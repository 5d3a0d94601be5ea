/** The bounds of bodies that an operator sets, and their checks. */
import { refusal } from '../../shared/errors/errors.js';
import { invalid } from '../contract/refusal.js';

export interface BodyBounds {
  readonly metadataBytes: number;
  readonly textBytes: number;
  /** The plaintext of an encrypted record. */
  readonly payloadBytes: number;
  readonly batchVectors: number;
  /** Largest number of bytes of the events of one commit. */
  readonly commitBytes: number;
}

/** Largest number of bytes of fields in the records or hits of one answer. */
const FIELD_BYTES_MAX = 8 << 20;

/** Largest number of bytes of fields in one answer, which must fit a message too. */
export const fieldBytesMax = ({ commitBytes }: Pick<BodyBounds, 'commitBytes'>): number =>
  Math.min(FIELD_BYTES_MAX, Math.floor(commitBytes / 2));

export function assertMetadataSize(sizeBytes: number, bounds: BodyBounds, path: string): void {
  if (sizeBytes > bounds.metadataBytes)
    throw invalid(`${path} takes ${sizeBytes} bytes: at most ${bounds.metadataBytes} are allowed`);
}

/** Returns the size of the text in UTF-8. Throws `validation_error`, also for text that UTF-8 cannot represent. */
export function checkedUtf8Size(text: string, maxBytes: number, path: string): number {
  const sizeBytes = Buffer.byteLength(text, 'utf8');
  if (sizeBytes > maxBytes) throw invalid(`${path} takes ${sizeBytes} bytes: at most ${maxBytes} are allowed`);
  if (!text.isWellFormed()) throw invalid(`${path} holds half of a surrogate pair, which is not a character`);
  return sizeBytes;
}

export function assertFitsCommit(sizeBytes: number, bounds: BodyBounds): void {
  if (sizeBytes > bounds.commitBytes) throw refusal('payload_too_large', 'batch', { max: bounds.commitBytes });
}

/** The bytes of a request id, given as hex or bytes; its form and length were checked. */
export const requestIdBytes = (id: string | readonly number[]): Uint8Array =>
  typeof id === 'string' ? Uint8Array.from(Buffer.from(id, 'hex')) : Uint8Array.from(id);
