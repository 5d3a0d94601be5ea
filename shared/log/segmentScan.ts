/**
 * Finds the extent of a log from its folder. Reads the headers of all segments, and the bytes after the last segment's
 * reach. All other frames are verified when they are read.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Malformed } from '../errors/malformed.js';
import { createFile, type DurableFile, deleteLeftovers, ifThere, syncDirectory } from '../files/durable.js';
import { ownerOfLog } from '../model/logId.js';
import { LOG_START, LogDamaged, type Position } from './eventLog.js';
import type { SegmentFiles } from './segmentFiles.js';
import {
  baseInName,
  decodeSegmentHeader,
  encodeReach,
  FRAME_PREFIX_BYTES,
  frameVerifies,
  REACH_OFFSET,
  readFramePrefix,
  SEGMENT_HEADER_BYTES,
  type SegmentReach,
  segmentName,
} from './segmentFormat.js';
import { damagedAt, type Segment } from './segmentReader.js';

/** The segments of a log. `last` is undefined before the first write. */
export interface Extent {
  readonly closed: readonly Segment[];
  readonly last: Segment | undefined;
  /** The last frame, or LOG_START. */
  readonly head: Position;
}

interface Scanning {
  readonly collectionId: number;
  readonly base: number;
  readonly file: DurableFile;
}

/** Cuts a torn tail off, and sets it aside. Throws LogDamaged, and the system's errors. */
export async function scanLog(folder: string, collectionId: number, files: SegmentFiles): Promise<Extent> {
  const bases = await findBases(folder, collectionId);
  const segments: Segment[] = [];
  let head = LOG_START;
  // The oldest segments of an access log are removed.
  let end = ownerOfLog(collectionId).isOfAccess ? (bases[0] ?? 0) : 0;
  /** The previous segment if it is not closed, and the offset of its last frame. */
  let open: { readonly segment: Segment; readonly head: number } | undefined;
  for (const base of bases) {
    if (base !== end)
      throw damagedAt(collectionId, base, 0, `it begins at ${base}, but what is before it ends at ${end}`);
    const path = join(folder, segmentName(base));
    const isLast = segments.length === bases.length - 1;
    const reach = await files.use(path, (file) => scanSegment({ collectionId, base, file }, isLast));
    if (open !== undefined) {
      // Only a crash between making a segment and closing the previous one leaves this.
      if (!isLast || reach.head !== 0) throw notFollowed(collectionId, open.segment);
      // The name of the new segment must be durable before the previous segment is closed.
      await syncDirectory(folder);
      await closeSegment(files, open.segment, open.head);
    }
    const segment = { path, base, sizeBytes: reach.end };
    segments.push(segment);
    if (reach.head !== 0) head = base + reach.head;
    end = base + reach.end;
    open = reach.next === 0 ? { segment, head: reach.head } : undefined;
  }
  return { closed: segments.slice(0, -1), last: segments.at(-1), head };
}

const notFollowed = (collectionId: number, { base }: Segment): LogDamaged =>
  damagedAt(collectionId, base, REACH_OFFSET + 16, 'no segment follows it, but one with frames does');

/** Writes durably that an existing segment follows. `head`: offset of the segment's last frame. */
export function closeSegment(files: SegmentFiles, { path, base, sizeBytes }: Segment, head: number): Promise<void> {
  return files.use(path, async (file) => {
    file.writeNow(encodeReach({ head, end: sizeBytes, next: base + sizeBytes }), REACH_OFFSET);
    await file.sync();
  });
}

/** The segments' bases in order; an empty list without a folder. */
async function findBases(folder: string, collectionId: number): Promise<number[]> {
  const names = await ifThere(readdir(folder));
  if (names === undefined) return [];
  const bases = names.flatMap((name) => baseInName(name) ?? []);
  // A log's folder appears together with its first segment.
  if (bases.length === 0) throw new LogDamaged(collectionId, 'its folder holds no segment');
  if (names.some((name) => name.endsWith('.tmp'))) await deleteLeftovers(folder);
  return bases.sort((a, b) => a - b);
}

async function scanSegment(segment: Scanning, isLast: boolean): Promise<SegmentReach> {
  const { collectionId, base, file } = segment;
  const reach = await readReach(segment);
  const sizeBytes = await file.sizeBytes();
  if (sizeBytes < reach.end)
    throw damagedAt(
      collectionId,
      base,
      sizeBytes,
      `the file ends here, but frames up to byte ${reach.end} were answered`,
    );
  // The next segment is made only when all frames of this one are answered.
  if (sizeBytes > reach.end && (!isLast || reach.next !== 0))
    throw damagedAt(collectionId, base, reach.end, 'there are bytes behind the last frame');
  if (isLast && reach.next !== 0)
    throw damagedAt(collectionId, base, reach.end, `${segmentName(reach.next)} follows it, and is missing`);
  return sizeBytes === reach.end ? reach : recoverTail(segment, reach, sizeBytes);
}

async function readReach({ collectionId, base, file }: Scanning): Promise<SegmentReach> {
  const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
  const read = await file.read(bytes, 0);
  try {
    const { header, reach } = decodeSegmentHeader(bytes.subarray(0, read));
    if (header.collectionId !== collectionId) throw new Malformed(`it belongs to collection ${header.collectionId}`, 8);
    if (header.base !== base) throw new Malformed(`it is the segment of base ${header.base}`, 16);
    return reach;
  } catch (error) {
    throw error instanceof Malformed ? damagedAt(collectionId, base, error.offset, error.message) : error;
  }
}

/**
 * Recovers the bytes after the reach, which may be unanswered. Intact frames stay, since before a power failure they may
 * have been answered. The crash tore the rest, which is set aside, except zeros: they were reserved for the next frames.
 */
async function recoverTail(segment: Scanning, reach: SegmentReach, sizeBytes: number): Promise<SegmentReach> {
  const { collectionId, base, file } = segment;
  const tail = new Uint8Array(sizeBytes - reach.end);
  await file.read(tail, reach.end);
  let { head, end } = reach;
  for (;;) {
    const next = frameEnd(tail, end - reach.end, base + reach.end);
    if (next === undefined) break;
    head = end;
    end = reach.end + next;
  }
  if (end < sizeBytes) {
    const torn = tail.subarray(end - reach.end);
    if (frameFollows(torn, base + end))
      throw damagedAt(collectionId, base, end, 'a frame does not verify, but the one behind it does');
    if (torn.some((byte) => byte !== 0)) await setAside(file.path, torn);
    await file.truncate(end);
  }
  // Writes the frames again: after a failed sync, their pages may look written and never reach the disk.
  await file.write(tail.subarray(0, end - reach.end), reach.end);
  await file.sync();
  const recovered = { head, end, next: 0 };
  file.writeNow(encodeReach(recovered), REACH_OFFSET);
  return recovered;
}

/** The end of the frame that begins `at` in `bytes`; undefined if it does not verify. `position`: of bytes[0]. */
function frameEnd(bytes: Uint8Array, at: number, position: number): number | undefined {
  const header = readFramePrefix(bytes.subarray(at, at + FRAME_PREFIX_BYTES), position + at);
  if (header === undefined) return undefined;
  const start = at + FRAME_PREFIX_BYTES;
  return frameVerifies(header, bytes.subarray(start, start + header.length)) ? start + header.length : undefined;
}

/** Whether an intact frame follows. No crash leaves that, since a frame is written only once the previous one is durable. */
function frameFollows(torn: Uint8Array, position: number): boolean {
  const header = readFramePrefix(torn.subarray(0, FRAME_PREFIX_BYTES), position);
  return header !== undefined && frameEnd(torn, FRAME_PREFIX_BYTES + header.length, position) !== undefined;
}

async function setAside(path: string, torn: Uint8Array): Promise<void> {
  for (let n = 1; !(await createFile(`${path}.torn-${n}`, torn)); n++);
}
