/**
 * The files that nats-server keeps a stream in: `msgs/<n>.blk` hold its messages one after another, each as
 *
 *   u32 length, top bit: it has headers ‖ u64 sequence ‖ i64 time ‖ u16 subject length ‖ subject ‖ [u32 length of the headers
 *   ‖ headers] ‖ body ‖ checksum of 8 bytes, over all but the first length, that of the subject, and that of the headers
 *
 * (`server/filestore.go` of its sources), and besides them what it can make again from them.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const HEADER_BYTES = 22;
const SUBJECT_LENGTH_AT = 20;
const CHECKSUM_BYTES = 8;
const LENGTH_MASK = 0x7fffffff;

/** The parts of a stored message, by where each begins in its file. */
export interface StoredMessage {
  readonly length: number;
  readonly sequence: number;
  readonly subject: number;
  /** Of the length of the headers. */
  readonly headers: number;
  readonly body: number;
  readonly checksum: number;
  readonly end: number;
}

/** Of the one account there is. */
export const streamFolder = (dataDir: string, stream: string): string =>
  join(dataDir, 'store', 'jetstream', '$G', 'streams', stream);

/** Of a stream that is no longer than one block. */
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
