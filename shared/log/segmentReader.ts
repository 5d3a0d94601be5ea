/** Frames out of segments, each verified before it is handed out. */
import type { Malformed } from '../malformed.js';
import { LogDamaged, type Position, type StoredFrame } from './eventLog.js';
import type { SegmentFiles } from './segmentFiles.js';
import { FRAME_HEADER_BYTES, frameVerifies, readFrameHeader, segmentName } from './segmentFormat.js';

/** `sizeBytes`: the bytes that are answered for; whatever lies behind them is nobody's. */
export interface Segment {
  readonly path: string;
  readonly base: number;
  readonly sizeBytes: number;
}

/** Read at once where frames are read in a row, and where only one is. */
const CHUNK_BYTES = 1 << 20;
const SINGLE_BYTES = 8 << 10;

export const damagedAt = (collectionId: number, base: number, offset: number, what: string): LogDamaged =>
  new LogDamaged(collectionId, `segment ${segmentName(base)}, byte ${offset}: ${what}`);

export const damagedBy = (collectionId: number, base: number, { message, offset }: Malformed): LogDamaged =>
  damagedAt(collectionId, base, offset, message);

/**
 * The frames of one segment from the one at `offset` on. Frames share memory with their neighbours, up to 1 MiB; it is
 * not used again. Throws LogDamaged where one does not verify.
 */
export async function* readFrames(
  files: SegmentFiles,
  collectionId: number,
  segment: Segment,
  offset: number,
  chunkBytes = CHUNK_BYTES,
): AsyncGenerator<StoredFrame> {
  const { base, sizeBytes } = segment;
  const damaged = (what: string): LogDamaged => damagedAt(collectionId, base, at, what);
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
    if (at + FRAME_HEADER_BYTES > sizeBytes) throw damaged('a frame’s header goes beyond the end');
    const header = readFrameHeader(await bytesAt(at, FRAME_HEADER_BYTES), base + at);
    if (header === undefined) throw damaged('the length of a frame does not verify');
    const end = at + FRAME_HEADER_BYTES + header.length;
    if (end > sizeBytes) throw damaged(`a frame of ${header.length} bytes goes beyond the end`);
    const bytes = await bytesAt(at + FRAME_HEADER_BYTES, header.length);
    if (!frameVerifies(header, bytes)) throw damaged('the checksum of a frame does not verify');
    yield { position: base + at, bytes };
    at = end;
  }
}

/** Throws LogDamaged where no frame begins at `position`. */
export async function readFrameAt(
  files: SegmentFiles,
  collectionId: number,
  segment: Segment,
  position: Position,
): Promise<StoredFrame> {
  const frames = readFrames(files, collectionId, segment, position - segment.base, SINGLE_BYTES);
  const { value } = await frames.next();
  if (value === undefined) throw damagedAt(collectionId, segment.base, position - segment.base, 'there is no frame');
  return value as StoredFrame;
}
