/** What an operator allows in a body, and what a record's attachments are checked against. */
import { VouchError } from '../../shared/errors.js';
import { REQUEST_ID_BYTES } from '../../shared/limits.js';
import { invalid } from '../contract/refusal.js';

export interface BodyBounds {
  readonly metadataBytes: number;
  readonly textBytes: number;
  /** Of an encrypted record, before it is encrypted. */
  readonly payloadBytes: number;
  readonly batchVectors: number;
  /** The largest set of events that fits one commit. */
  readonly commitBytes: number;
}

export function assertMetadataSize(sizeBytes: number, bounds: BodyBounds, path: string): void {
  if (sizeBytes > bounds.metadataBytes)
    throw invalid(`${path} takes ${sizeBytes} bytes: at most ${bounds.metadataBytes} are allowed`);
}

/** The text's size in bytes of UTF-8. */
export function assertedTextBytes(text: string, bounds: BodyBounds, path: string): number {
  const sizeBytes = Buffer.byteLength(text, 'utf8');
  if (sizeBytes > bounds.textBytes)
    throw invalid(`${path} takes ${sizeBytes} bytes: at most ${bounds.textBytes} are allowed`);
  return sizeBytes;
}

export function assertFitsCommit(sizeBytes: number, bounds: BodyBounds): void {
  if (sizeBytes <= bounds.commitBytes) return;
  const message = `the batch takes ${sizeBytes} bytes, and one commit holds ${bounds.commitBytes}: send it in parts`;
  throw new VouchError('payload_too_large', message);
}

/** `text` is hex, which the contract's types have seen to. */
export const requestIdBytes = (id: string | readonly number[]): Uint8Array =>
  typeof id === 'string' ? Uint8Array.from(Buffer.from(id, 'hex')) : Uint8Array.from(id.slice(0, REQUEST_ID_BYTES));
