/** A collection's log in the folder of a standalone node: `<data folder>/collections/<id>/log/<base>.seg`. */
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { equal } from '../bytes.js';
import type { FileReading } from '../fileReading.js';
import { Refused } from '../reading.js';
import type { EventPlace } from '../recordTable.js';
import { type FrameSource, type Place, type PlacedFrame, SourceRefused } from '../source.js';
import { openFile } from './files.js';
import {
  checksumOf,
  FRAME_HEADER_BYTES,
  readFrameHeader,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
} from './segment.js';

/** Ids of access logs in the headers of segments begin here. */
const ACCESS_LOGS = 2n ** 40n;
const SEGMENT_NAME = /^(\d{16})\.seg$/;

interface Segment {
  readonly name: string;
  readonly base: number;
  readonly header: Uint8Array;
  readonly file: FileReading;
}

export class LogFolder implements FrameSource {
  #tornBytes = 0;

  private constructor(
    private readonly collectionId: bigint,
    private readonly segments: readonly Segment[],
  ) {}

  /** Opens the log of the collection, which has no folder before the first write. */
  static open(dataDir: string, collectionId: bigint): Promise<LogFolder> {
    return LogFolder.#open(join(dataDir, 'collections', String(collectionId), 'log'), collectionId);
  }

  /** Opens the access log of the collection, which has no folder before the first read. */
  static openAccess(dataDir: string, collectionId: bigint): Promise<LogFolder> {
    return LogFolder.#open(join(dataDir, 'collections', String(collectionId), 'access'), ACCESS_LOGS + collectionId);
  }

  static async #open(folder: string, collectionId: bigint): Promise<LogFolder> {
    for (;;) {
      const names = await segmentNames(folder);
      const segments: Segment[] = [];
      // The node may be writing to the log: it makes a new segment, marks the previous one as followed, then writes to the new
      // one. Read from the newest to the oldest, so that every frame is seen with the earlier change of the previous segment.
      for (const name of [...names].reverse()) {
        const segment = await openSegment(folder, name);
        if (segment !== undefined) segments.unshift(segment);
      }
      if (sameNames(await segmentNames(folder), names)) return new LogFolder(collectionId, segments);
      for (const { file } of segments) await file.close();
    }
  }

  /** Whether the log has no file, as before its first entry. */
  get isAbsent(): boolean {
    return this.segments.length === 0;
  }

  get sizeBytes(): number {
    return this.segments.reduce((sum, { file }) => sum + file.sizeBytes, 0);
  }

  /** The bytes of a torn, unanswered write after the last whole frame, and in an access log of the zeros there. */
  get tornBytes(): number {
    return this.#tornBytes;
  }

  async *frames(): AsyncGenerator<PlacedFrame, void, undefined> {
    // The oldest segments of an access log are removed.
    let base = this.collectionId < ACCESS_LOGS ? 0 : (this.segments[0]?.base ?? 0);
    let before: Segment | undefined;
    for (const segment of this.segments) {
      if (segment.base !== base)
        throw refusal(segment, 0, `it begins at ${segment.base} of the log, but what is before it ends at ${base}`);
      const isLast = segment === this.segments.at(-1);
      const header = this.#header(segment);
      yield* answered(segment, header);
      if (isLast && header.next === 0) yield* this.#tail(segment);
      else if (segment.file.left > 0) throw refusal(segment, header.endAt, 'there are bytes behind the last frame');
      if (isLast && header.next !== 0)
        throw refusal(segment, header.endAt, `${segmentName(header.next)} follows it, and is missing`);
      // Only a crash between making a segment and marking the previous one as followed leaves this.
      if (before !== undefined && (!isLast || segment.file.at > SEGMENT_HEADER_BYTES))
        throw refusal(before, 48, 'no segment follows it, but one with frames does');
      before = header.next === 0 ? segment : undefined;
      base += segment.file.at;
    }
  }

  async readAgain({ position, offset, length }: EventPlace): Promise<Uint8Array> {
    const segment = this.#segmentAt(position);
    return segment.file.read(position - segment.base + offset, length);
  }

  placeOf(position: number, offset: number): Place {
    const { name, base } = this.#segmentAt(position);
    return { name, byte: position - base + offset };
  }

  async close(): Promise<void> {
    for (const { file } of this.segments) await file.close();
  }

  #segmentAt(position: number): Segment {
    return this.segments.findLast(({ base }) => base <= position)!;
  }

  #header(segment: Segment): SegmentHeader {
    try {
      const header = readSegmentHeader(segment.header);
      if (header.base !== segment.base) throw new Refused(`it is the segment of base ${header.base}`, 16);
      if (header.collectionId !== this.collectionId) throw new Refused(`it is of collection ${header.collectionId}`, 8);
      return header;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      throw refusal(segment, error.at, error.message);
    }
  }

  /** The frames after the reach. Before a power failure whole ones may have been answered; a torn one was not. */
  async *#tail(segment: Segment): AsyncGenerator<PlacedFrame, void, undefined> {
    const { file } = segment;
    while (file.left > 0) {
      const at = file.at;
      const bytes = await frameAt(segment, at);
      if (bytes === undefined) {
        if (await isFrameBehind(segment, at))
          throw refusal(segment, at, 'a frame does not verify, but the one behind it does');
        this.#tornBytes = file.left;
        return;
      }
      await file.take(FRAME_HEADER_BYTES + bytes.length);
      yield { position: segment.base + at + FRAME_HEADER_BYTES, bytes };
    }
  }
}

/** The frames up to the reach. */
async function* answered(segment: Segment, { headAt, endAt }: SegmentHeader): AsyncGenerator<PlacedFrame> {
  const { file, base } = segment;
  await file.take(SEGMENT_HEADER_BYTES);
  let lastAt = 0;
  while (file.at < endAt) {
    lastAt = file.at;
    const bytes = await file.take(FRAME_HEADER_BYTES);
    if (bytes === undefined) throw refusal(segment, file.sizeBytes, cutShort(endAt));
    const header = readFrameHeader(bytes, base + lastAt);
    if (header === undefined) throw refusal(segment, lastAt, 'no frame begins here: its length does not verify');
    const position = base + file.at;
    const frame = await file.take(header.length);
    if (frame === undefined) throw refusal(segment, file.sizeBytes, cutShort(endAt));
    yield { position, bytes: frame };
    // The caller has found the frame good, or has stopped.
    if (!equal(checksumOf(frame), header.checksum))
      throw refusal(segment, lastAt + 8, 'the checksum before a frame is not the frame’s');
  }
  if (file.at !== endAt || lastAt !== headAt) throw refusal(segment, 32, 'the reach is not at the end of a frame');
}

const cutShort = (endAt: number): string => `the file ends here, but frames up to byte ${endAt} were answered`;

/** The frame whose header is `at`; undefined if it is not whole. */
async function frameAt({ file, base }: Segment, at: number): Promise<Uint8Array | undefined> {
  const bytes = await file.read(at, FRAME_HEADER_BYTES);
  const header = bytes.length < FRAME_HEADER_BYTES ? undefined : readFrameHeader(bytes, base + at);
  if (header === undefined || at + FRAME_HEADER_BYTES + header.length > file.sizeBytes) return undefined;
  const frame = await file.read(at + FRAME_HEADER_BYTES, header.length);
  return equal(checksumOf(frame), header.checksum) ? frame : undefined;
}

/** Whether a whole frame begins at `at`. No crash tears a frame and leaves the next whole: each is durable before the next write. */
async function isFrameBehind(segment: Segment, at: number): Promise<boolean> {
  const bytes = await segment.file.read(at, FRAME_HEADER_BYTES);
  const header = bytes.length < FRAME_HEADER_BYTES ? undefined : readFrameHeader(bytes, segment.base + at);
  return header !== undefined && (await frameAt(segment, at + FRAME_HEADER_BYTES + header.length)) !== undefined;
}

const segmentName = (base: number): string => `${String(base).padStart(16, '0')}.seg`;

async function segmentNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return names.filter((name) => SEGMENT_NAME.test(name)).sort();
}

const sameNames = (some: readonly string[], others: readonly string[]): boolean => some.join() === others.join();

/** Undefined if the node has just removed the segment. */
async function openSegment(folder: string, name: string): Promise<Segment | undefined> {
  const path = join(folder, name);
  try {
    // The header before the file's size: the file may be growing.
    const header = await headerBytes(path);
    return { name, base: Number(name.slice(0, -4)), header, file: await openFile(path) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function headerBytes(path: string): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const bytes = new Uint8Array(SEGMENT_HEADER_BYTES);
    return bytes.subarray(0, (await file.read(bytes, 0, SEGMENT_HEADER_BYTES, 0)).bytesRead);
  } finally {
    await file.close();
  }
}

const refusal = ({ name }: Segment, byte: number, what: string): SourceRefused =>
  new SourceRefused({ name, byte }, what);
