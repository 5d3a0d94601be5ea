/**
 * The files in which nats-server stores a stream. `msgs/<n>.blk` contain its messages one after another, in this layout:
 *
 * ```text
 * u32 length, top bit: it has headers ‖ u64 sequence ‖ i64 time ‖ u16 subject length ‖ subject
 * ‖ [u32 length of the headers ‖ headers] ‖ body
 * ‖ checksum of 8 bytes, over everything except the first length, that of the subject, and that of the headers
 * ```
 *
 * See `server/filestore.go` of its sources. The other files of the stream can be rebuilt from these.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const HEADER_BYTES = 22;
const SUBJECT_LENGTH_AT = 20;
const CHECKSUM_BYTES = 8;
const LENGTH_MASK = 0x7fffffff;

/** Offsets in the file at which the parts of a stored message begin. */
export interface StoredMessage {
  readonly length: number;
  readonly sequence: number;
  readonly subject: number;
  /** Offset of the length of the headers. */
  readonly headers: number;
  readonly body: number;
  readonly checksum: number;
  readonly end: number;
}

/** Folder of a stream in the only account. */
export const streamFolder = (dataDir: string, stream: string): string =>
  join(dataDir, 'store', 'jetstream', '$G', 'streams', stream);

/** File of a stream that is at most one block long. */
export const blockFile = (dataDir: string, stream: string): string =>
  join(streamFolder(dataDir, stream), 'msgs', '1.blk');

export async function storedMessages(path: string): Promise<StoredMessage[]> {
  const block = await readFile(path);
  const messages: StoredMessage[] = [];
  for (let at = 0; at < block.length; ) {
    const end = at + (block.readUInt32LE(at) & LENGTH_MASK);
    const headers = at + HEADER_BYTES + block.readUInt16LE(at + SUBJECT_LENGTH_AT);
    messages.push({
      length: at,
      sequence: at + 4,
      subject: at + HEADER_BYTES,
      headers,
      body: headers + 4 + block.readUInt32LE(headers),
      checksum: end - CHECKSUM_BYTES,
      end,
    });
    at = end;
  }
  return messages;
}

export async function flipBit(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at]! ^= 1;
  await writeFile(path, bytes);
}
