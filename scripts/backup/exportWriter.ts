/**
 * The file of an export. Integers are little-endian, JSON is UTF-8:
 *
 * ```text
 * "VOUCHLOG1\n"
 * u32 length | header    the collection and its index
 * u32 length | frame     for each commit, unchanged
 * u32 0
 * u32 length | trailer   the end of the log, and a checkpoint of it
 * BLAKE3-256 of all bytes before
 * ```
 */
import type { CollectionFacts, ExportResponse, SignedCheckpoint } from '../../coordinator/contract/backup.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { DurableFile, isThere } from '../../shared/files/durable.js';
import { hashStream } from '../../shared/hashing/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import type { Event } from '../../shared/log/event.js';
import { verifyFrame } from '../../shared/log/frame.js';
import { actorOf, isSameActor } from '../../shared/model/actor.js';
import { isSameText } from '../../shared/model/textLanguage.js';
import type { FileReading } from '../../verifier/index.js';
import { openFile } from '../../verifier/node/index.js';

const MAGIC = Buffer.from('VOUCHLOG1\n', 'latin1');
const LENGTH_BYTES = 4;

export interface ExportHeader extends CollectionFacts {
  readonly format: 1;
  /** Unix milliseconds. */
  readonly exported_at_ms: number;
}

export interface ExportTrailer {
  readonly frames: number;
  readonly sequence: number;
  readonly log_bytes: number;
  readonly chain_head: string;
  readonly log_root: string;
  readonly state_hash: string;
  readonly checkpoint: SignedCheckpoint;
}

export function headerOf(facts: ExportResponse, exportedAtMs: number): ExportHeader {
  const { origin, dimension, metric, normalise, text, ttl_secs, created_at_ms, created_by } = facts;
  const { index = { type: 'brute' }, erasable } = facts;
  return {
    ...{ format: 1, origin, dimension, metric },
    ...(normalise && { normalise }),
    ...(text && { text }),
    ...(ttl_secs && { ttl_secs }),
    ...(erasable && { erasable }),
    ...{ created_at_ms, ...(created_by && { created_by }), index, exported_at_ms: exportedAtMs },
  };
}

const END_OF_FRAMES = new Uint8Array(LENGTH_BYTES);

/** Encodes a part of the file: its length, then its bytes. */
export function withLength(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads a part of the file; undefined if its length is 0, or the file ends earlier. */
async function takePart(reading: FileReading): Promise<Uint8Array | undefined> {
  const sizeBytes = Buffer.from((await reading.take(LENGTH_BYTES)) ?? END_OF_FRAMES).readUInt32LE();
  return sizeBytes === 0 ? undefined : reading.take(sizeBytes);
}

/** Whether a stored header is of this collection, whose index may have changed. */
function isSameCollection(stored: Uint8Array, wantedHeader: ExportHeader): boolean {
  const { origin, dimension, metric, normalise, text, created_at_ms } = wantedHeader;
  try {
    const header = JSON.parse(new TextDecoder().decode(stored)) as ExportHeader;
    const { project, name, id } = header.origin;
    const config = [header.dimension, header.metric, header.normalise, header.created_at_ms];
    const found = [header.format, project, name, id, ...config];
    const wanted = [1, origin.project, origin.name, origin.id, dimension, metric, normalise, created_at_ms];
    return isSameText(header.text, text) && found.every((value, i) => value === wanted[i]);
  } catch {
    return false;
  }
}

/** Writes an export, or resumes one after its last whole frame that verifies; a torn rest is overwritten. */
export class ExportWriter {
  /** The hash of the file so far. */
  readonly #hash = hashStream();
  #sizeBytes = 0;
  #frames = 0;
  #end: LogEnd = EMPTY_LOG;

  private constructor(
    private readonly file: DurableFile,
    private readonly header: ExportHeader,
  ) {}

  /** Throws an Error of one line if the file is not an unfinished export of this collection. */
  static async open(path: string, header: ExportHeader): Promise<ExportWriter> {
    const isBegun = await isThere(path);
    const writer = new ExportWriter(isBegun ? await DurableFile.open(path) : await DurableFile.create(path), header);
    try {
      if (isBegun) await writer.#readAgain(path);
      if (writer.#sizeBytes === 0) await writer.#write(MAGIC, withLength(Buffer.from(JSON.stringify(header))));
      return writer;
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }

  /** The end of the log in the file. */
  get end(): LogEnd {
    return this.#end;
  }

  get frames(): number {
    return this.#frames;
  }

  /** Throws Malformed if the frame is not the next one of this collection's log. */
  async append(frame: Uint8Array): Promise<void> {
    const end = await this.#endWith(frame);
    await this.#write(withLength(frame));
    this.#end = end;
    this.#frames++;
  }

  /** Resolves when the file is complete and durable. */
  async finish(trailer: ExportTrailer): Promise<void> {
    await this.#write(END_OF_FRAMES, withLength(Buffer.from(JSON.stringify(trailer))));
    await this.file.write(this.#hash.digest(), this.#sizeBytes);
    await this.file.sync();
    await this.file.close();
  }

  /** Leaves the unfinished file. */
  async abandon(): Promise<void> {
    this.#hash.dispose();
    await this.file.close();
  }

  async #write(...parts: readonly Uint8Array[]): Promise<void> {
    for (const part of parts) {
      await this.file.write(part, this.#sizeBytes);
      this.#took(part);
    }
  }

  #took(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#sizeBytes += bytes.length;
  }

  /** Reads the complete frames, and cuts off the rest. */
  async #readAgain(path: string): Promise<void> {
    const reading = await openFile(path);
    try {
      const magic = await reading.take(Math.min(MAGIC.length, reading.sizeBytes));
      if (magic === undefined || !MAGIC.subarray(0, magic.length).equals(magic))
        throw new Error(`${path} exists and is not an export: move it away, or choose another name`);
      const header = await takePart(reading);
      if (header !== undefined) {
        if (!isSameCollection(header, this.header))
          throw new Error(
            `${path} is an unfinished export of another collection: move it away, or choose another name`,
          );
        this.#took(MAGIC);
        this.#took(withLength(header));
        await this.#takeFrames(reading);
      }
      await this.file.truncate(this.#sizeBytes);
    } finally {
      await reading.close();
    }
  }

  async #takeFrames(reading: FileReading): Promise<void> {
    for (;;) {
      const frame = await takePart(reading);
      if (frame === undefined) return;
      try {
        this.#end = await this.#endWith(frame);
      } catch (error) {
        if (error instanceof Malformed) return;
        throw error;
      }
      this.#took(withLength(frame));
      this.#frames++;
    }
  }

  async #endWith(bytes: Uint8Array): Promise<LogEnd> {
    const { end, events } = await verifyFrame(bytes, this.#end, async () => {});
    if (this.#end === EMPTY_LOG) this.#assertGenesis(events[0]);
    return end;
  }

  #assertGenesis(event: Event | undefined): void {
    const { origin, dimension, normalise, text, created_at_ms, created_by } = this.header;
    const isOurs =
      event?.type === 'genesis' &&
      event.project === origin.project &&
      event.name === origin.name &&
      event.collectionId === origin.id &&
      event.dimension === dimension &&
      event.normalise === normalise &&
      isSameText(event.text, text) &&
      event.timeMs === created_at_ms &&
      isSameActor(event.actor, created_by === undefined ? null : actorOf(created_by));
    if (!isOurs) throw new Malformed('the log begins with the genesis of another collection', 0);
  }
}
