/**
 * Writes an export, or goes on with one that was broken off: after its last whole frame that verifies. What stands behind
 * that was torn by whatever ended it, and is written over.
 */
import { access } from 'node:fs/promises';
import { DurableFile } from '../../shared/durable.js';
import { hashStream } from '../../shared/hash.js';
import { EMPTY_LOG, type LogEnd } from '../../shared/log/chain.js';
import type { Event } from '../../shared/log/event.js';
import { verifyFrame } from '../../shared/log/frameVerifier.js';
import { Malformed } from '../../shared/malformed.js';
import { FileReading } from '../verifier/fileReading.js';
import { behindLength, type ExportHeader, type ExportTrailer, isSameCollection, MAGIC } from './exportFormat.js';

const LENGTH_BYTES = 4;
const NO_MORE_FRAMES = new Uint8Array(LENGTH_BYTES);

const noPause = async (): Promise<void> => {};

export class ExportWriter {
  /** Of all that is written. */
  readonly #hash = hashStream();
  #sizeBytes = 0;
  #frames = 0;
  #end: LogEnd = EMPTY_LOG;

  private constructor(
    private readonly file: DurableFile,
    private readonly header: ExportHeader,
  ) {}

  /** Throws an Error of one line where the file is something else than an export of this collection that was broken off. */
  static async open(path: string, header: ExportHeader): Promise<ExportWriter> {
    const isThere = await access(path).then(
      () => true,
      () => false,
    );
    const writer = new ExportWriter(isThere ? await DurableFile.open(path) : await DurableFile.create(path), header);
    try {
      if (isThere) await writer.#readAgain(path);
      if (writer.#sizeBytes === 0) await writer.#write(MAGIC, behindLength(Buffer.from(JSON.stringify(header))));
      return writer;
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }

  /** Where the log in the file ends. */
  get end(): LogEnd {
    return this.#end;
  }

  get frames(): number {
    return this.#frames;
  }

  /** Throws Malformed where the frame is not the next of this collection's log. */
  async append(frame: Uint8Array): Promise<void> {
    const end = await this.#endWith(frame);
    await this.#write(behindLength(frame));
    this.#end = end;
    this.#frames++;
  }

  /** The file is whole, and durable under its name, when this resolves. */
  async finish(trailer: ExportTrailer): Promise<void> {
    await this.#write(NO_MORE_FRAMES, behindLength(Buffer.from(JSON.stringify(trailer))));
    await this.file.write(this.#hash.digest(), this.#sizeBytes);
    await this.file.sync();
    await this.file.close();
  }

  /** Leaves the file as far as it came. */
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

  /** Takes what is whole, and cuts the rest off. */
  async #readAgain(path: string): Promise<void> {
    const reading = await FileReading.open(path);
    try {
      const magic = await reading.take(Math.min(MAGIC.length, reading.sizeBytes));
      if (magic === undefined || !MAGIC.subarray(0, magic.length).equals(magic))
        throw new Error(`${path} is there, and is no export: move it away, or choose another name`);
      const header = await takePart(reading);
      if (header !== undefined) {
        if (!isSameCollection(header, this.header))
          throw new Error(
            `${path} is an unfinished export of another collection: move it away, or choose another name`,
          );
        this.#took(MAGIC);
        this.#took(behindLength(header));
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
      this.#took(behindLength(frame));
      this.#frames++;
    }
  }

  async #endWith(bytes: Uint8Array): Promise<LogEnd> {
    const { end, events } = await verifyFrame(bytes, this.#end, noPause);
    if (this.#end === EMPTY_LOG) this.#assertGenesis(events[0]);
    return end;
  }

  #assertGenesis(event: Event | undefined): void {
    const { origin, dimension, created_at_ms } = this.header;
    const isOurs =
      event?.type === 'genesis' &&
      event.project === origin.project &&
      event.name === origin.name &&
      event.collectionId === origin.id &&
      event.dimension === dimension &&
      event.timeMs === created_at_ms;
    if (!isOurs) throw new Malformed('the log begins with the genesis of another collection', 0);
  }
}

/** The bytes behind a length; undefined where that is 0, or they are not all there. */
async function takePart(reading: FileReading): Promise<Buffer | undefined> {
  const length = (await reading.take(LENGTH_BYTES))?.readUInt32LE() ?? 0;
  return length === 0 ? undefined : reading.take(length);
}
