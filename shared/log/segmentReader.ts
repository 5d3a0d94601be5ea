/** Reads and verifies frames of segments. */
import { Pacer } from '../scheduling/pacer.js';
import { nextTurn } from '../scheduling/slice.js';
import { LogDamaged, type StoredFrame } from './eventLog.js';
import { isLong } from './frame.js';
import type { SegmentFiles } from './segmentFiles.js';
import {
  FRAME_PREFIX_BYTES,
  frameVerifies,
  frameVerifiesInSlices,
  readFramePrefix,
  segmentName,
} from './segmentFormat.js';

/** `sizeBytes`: up to the end of the last answered frame; bytes after it are ignored. */
export interface Segment {
  readonly path: string;
  readonly base: number;
  readonly sizeBytes: number;
}

/** Bytes of one read: for frames in a row, and for a single frame. */
const CHUNK_BYTES = 1 << 20;
export const SINGLE_FRAME_BYTES = 8 << 10;

export const damagedAt = (collectionId: number, base: number, offset: number, what: string): LogDamaged =>
  new LogDamaged(collectionId, `segment ${segmentName(base)}, byte ${offset}: ${what}`);

/**
 * The frames of one segment from `offset` on. Frames share memory with their neighbours, up to 1 MiB, which is not reused.
 * Throws LogDamaged for a frame that does not verify.
 */
export async function* readFrames(
  files: SegmentFiles,
  collectionId: number,
  segment: Segment,
  { offset, chunkBytes = CHUNK_BYTES }: { readonly offset: number; readonly chunkBytes?: number },
): AsyncGenerator<StoredFrame> {
  const { base, sizeBytes } = segment;
  const damaged = (what: string): LogDamaged => damagedAt(collectionId, base, at, what);
  const pacer = new Pacer(nextTurn);
  let at = offset;
  let chunk = new Uint8Array(0);
  let chunkAt = at;

  const bytesAt = async (from: number, count: number): Promise<Uint8Array> => {
    if (from + count > chunkAt + chunk.length) {
      const wanted = Math.max(count, Math.min(chunkBytes, sizeBytes - from));
      chunk = new Uint8Array(Buffer.allocUnsafeSlow(wanted).buffer);
      chunkAt = from;
      if ((await files.use(segment.path, (file) => file.read(chunk, from))) < wanted)
        throw damaged(`the file ends before byte ${from + wanted}`);
    }
    return chunk.subarray(from - chunkAt, from - chunkAt + count);
  };

  while (at < sizeBytes) {
    if (at + FRAME_PREFIX_BYTES > sizeBytes) throw damaged('a frame’s header goes beyond the end');
    const header = readFramePrefix(await bytesAt(at, FRAME_PREFIX_BYTES), base + at);
    if (header === undefined) throw damaged('the length of a frame does not verify');
    const end = at + FRAME_PREFIX_BYTES + header.length;
    if (end > sizeBytes) throw damaged(`a frame of ${header.length} bytes goes beyond the end`);
    const bytes = await bytesAt(at + FRAME_PREFIX_BYTES, header.length);
    // A promise for each small frame would cost as much as its hash.
    const isIntact = isLong(bytes) ? await frameVerifiesInSlices(header, bytes, pacer) : frameVerifies(header, bytes);
    if (!isIntact) throw damaged('the checksum of a frame does not verify');
    yield { position: base + at, bytes };
    at = end;
  }
}
