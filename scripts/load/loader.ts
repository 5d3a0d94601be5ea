/**
 * Loads rows in batches, several at a time. Records up to which row all are done.
 *
 * ```text
 * rows ──▶ batch ──▶ in flight (a few) ──▶ answered ──▶ recorded, in the order of the rows
 * ```
 *
 * A refused batch is sent again in halves, down to the refused row.
 */
import type { BatchInsertResponse, BatchUpsertResponse } from '../../coordinator/contract/records.js';
import { Packed, Refused, type ServiceClient } from '../service/serviceClient.js';
import { isDefect } from '../terminal/commandLine.js';
import { counted } from '../terminal/line.js';
import type { Progress } from '../terminal/progress.js';
import { batchBody, type NumberedRow } from './batchBody.js';
import { Lengths } from './lengths.js';
import { UnseenFields } from './namedFields.js';
import { noteReached, type Reached } from './progressFile.js';
import type { Rejects } from './rejects.js';
import { type Columns, type Numerals, type Row, rowOf } from './row.js';
import { isUnreadable, type RawRow, RowFault, type Source, type Unreadable } from './source.js';
import { checkpointOf } from './target.js';

interface LoadOptions {
  readonly client: ServiceClient;
  readonly collection: string;
  readonly dimension: number;
  readonly source: Source;
  readonly columns: Columns;
  readonly rejects: Rejects;
  /** Undefined: the progress is not recorded. */
  readonly progressFile: string | undefined;
  /** After an abort the loader waits for the batches in flight, and sends no more. */
  readonly signal: AbortSignal;
}

const IN_FLIGHT = 4;

const BATCH_ROWS = 1_000;
/** Rows of a batch under a rate limit. The limit counts requests, so larger batches load more rows. */
const LIMITED_BATCH_ROWS = 16_384;
/**
 * Rows that may be answered before the progress is recorded, which takes a write to the disk. Together with those in flight
 * they are fewer than the service recognises, so none is inserted twice.
 */
const UNNOTED_ROWS = 8_192;
/** Bytes of a batch, which is one commit: several times less than a message of NATS or a body may have. */
const BATCH_BYTES = 4 << 20;

interface Batch {
  readonly rows: NumberedRow[];
  /** The last row before the next batch, whether it fitted or not. */
  lastRow: number;
  sizeBytes: number;
  rejected: number;
  readonly externalIds: Set<string>;
}

/** A batch in flight. */
interface Flight {
  readonly batch: Batch;
  readonly taken: Promise<Taken>;
}

/** The rows of a batch that the service accepted, and those of them that replaced a record, or an earlier row, of their external id. */
interface Taken {
  readonly inserted: number;
  readonly replaced: number;
}

export class Loader {
  #reached: Reached;
  #notedRow: number;
  #numerals: Numerals | undefined;
  #readRows = 0;
  /** The lengths of the vectors that were read. */
  readonly lengths = new Lengths();
  /** The fields that options name and no row had. */
  readonly unseen: UnseenFields;
  /** The batches in flight, in the order of their rows. */
  readonly #flights: Flight[] = [];

  /** `before`: the progress of an interrupted load, which this one continues. */
  constructor(
    private readonly options: LoadOptions,
    before: Reached,
  ) {
    this.#reached = before;
    this.#notedRow = before.row;
    this.#numerals = before.numerals;
    this.unseen = new UnseenFields(options.columns);
  }

  get reached(): Reached {
    return this.#reached;
  }

  /**
   * Returns whether all rows were read: false if the signal was aborted before. Throws RowRejected, and an Error of one line;
   * the progress is recorded also then.
   */
  async load(progress: Progress): Promise<boolean> {
    const { signal } = this.options;
    progress.advance(rowsIn(this.#reached));
    try {
      const isWhole = await this.#read(progress);
      await this.#land(progress);
      await this.#note(true);
      return isWhole;
    } catch (error) {
      await this.#land(progress).catch(() => {});
      // The service may be out of reach: its log is not asked for.
      await this.#note(false);
      if (signal.aborted && !isDefect(error)) return false;
      throw error;
    }
  }

  async #read(progress: Progress): Promise<boolean> {
    const { source, signal, rejects } = this.options;
    const { row: before } = this.#reached;
    let batch = emptyBatch();
    let lastRow = 0;
    for await (const raw of source.rows(signal)) {
      if (signal.aborted) return false;
      lastRow = raw.number;
      this.#readRows += 1;
      if (!isUnreadable(raw)) this.unseen.note(raw.fields);
      if (raw.number <= before) continue;
      const row = this.#fitting(raw);
      if (row instanceof RowFault) {
        await rejects.add(raw.number, row.message).catch(async (error: unknown) => {
          // The rows before it stay.
          if (batch.rows.length > 0) await this.#send(batch, progress);
          throw error;
        });
        batch.rejected += 1;
      } else {
        batch.rows.push({ number: raw.number, row });
        if (row.externalId !== null) batch.externalIds.add(row.externalId);
        batch.sizeBytes += sizeOf(row);
      }
      batch.lastRow = raw.number;
      if (!this.#isFull(batch)) continue;
      await this.#send(batch, progress);
      batch = emptyBatch();
    }
    if (lastRow < before)
      throw new Error(
        `${source.name} ends after row ${lastRow}, and the rows up to ${before} were loaded: remove ${this.options.progressFile} to load it again`,
      );
    if (batch.lastRow > 0) await this.#send(batch, progress);
    return true;
  }

  #isFull({ rows, rejected, sizeBytes }: Batch): boolean {
    const most = this.options.client.rateLimitWaits > 0 ? LIMITED_BATCH_ROWS : BATCH_ROWS;
    return rows.length + rejected >= most || sizeBytes >= BATCH_BYTES;
  }

  /** The row, or the reason why it does not fit. */
  #fitting(raw: RawRow | Unreadable): Row | RowFault {
    const { columns, source, dimension } = this.options;
    if (isUnreadable(raw)) return new RowFault(raw.fault);
    try {
      const row = rowOf(raw.fields, columns, source.usual, dimension);
      this.#assertOneForm(row);
      if (!columns.isNormalised) this.lengths.add(row.vector as Uint8Array);
      return row;
    } catch (error) {
      if (error instanceof RowFault) return error;
      throw error;
    }
  }

  /** Throws RowFault where the number 1 and the text "1" could become one external id. */
  #assertOneForm({ numerals, externalId }: Row): void {
    if (numerals === undefined) return;
    this.#numerals ??= numerals;
    if (this.#numerals === numerals) return;
    const [own, others] = numerals === 'text' ? ['text', 'numbers'] : ['number', 'texts'];
    throw new RowFault(
      `${this.options.columns.id} is the ${own} ${externalId}, and earlier ids are ${others}: write all ids as texts, or all as numbers`,
    );
  }

  async #send(batch: Batch, progress: Progress): Promise<void> {
    // The last of several rows with one external id must be stored last.
    const mustWait = (): boolean =>
      this.#flights.length >= IN_FLIGHT || this.#flights.some((flight) => sharesId(flight.batch, batch));
    while (mustWait()) await this.#landOldest(progress);
    if (isLarge(batch)) await this.#note(true);
    const taken = this.#insert(batch.rows);
    // A failure is thrown when the batch is the oldest one.
    taken.catch(() => {});
    this.#flights.push({ batch, taken });
  }

  async #land(progress: Progress): Promise<void> {
    while (this.#flights.length > 0) await this.#landOldest(progress);
  }

  /** `withLog`: also records the present log, which has the rows. */
  async #note(withLog: boolean): Promise<void> {
    const { progressFile, client, collection } = this.options;
    if (progressFile === undefined || this.#notedRow === this.#reached.row) return;
    if (withLog) this.#reached = { ...this.#reached, log: (await checkpointOf(client, collection)).log };
    await noteReached(progressFile, this.#reached);
    this.#notedRow = this.#reached.row;
  }

  /** Waits for the oldest batch, and records it. After a batch that failed, no more is recorded. */
  async #landOldest(progress: Progress): Promise<void> {
    const { batch, taken: answer } = this.#flights.shift()!;
    let taken: Taken;
    try {
      taken = await answer;
    } catch (error) {
      await Promise.allSettled(this.#flights.splice(0).map((flight) => flight.taken));
      throw error;
    }
    const before = this.#reached;
    this.#reached = {
      ...before,
      numerals: this.#numerals,
      row: batch.lastRow,
      inserted: before.inserted + taken.inserted,
      rejected: before.rejected + batch.rejected + batch.rows.length - taken.inserted,
      replaced: before.replaced + taken.replaced,
    };
    progress.advance(rowsIn(this.#reached) - rowsIn(before), this.options.source.expected(this.#readRows));
    const unnoted = this.#reached.row - this.#notedRow;
    if (unnoted >= UNNOTED_ROWS || this.#flights.some((flight) => isLarge(flight.batch))) await this.#note(true);
  }

  /** Throws BrokenOff if the signal was aborted before the rows were halved. */
  async #insert(rows: readonly NumberedRow[]): Promise<Taken> {
    if (rows.length === 0) return NONE_TAKEN;
    const { client, collection, columns, rejects, signal } = this.options;
    const sent = withoutReplaced(rows);
    const body = new Packed(batchBody(collection, this.#reached, sent, columns.isNormalised));
    try {
      const path = columns.id === undefined ? '/v1/vectors/batch-insert' : '/v1/vectors/batch-upsert';
      const { ids, replaced = 0 } = await client.ask<BatchInsertResponse & Partial<BatchUpsertResponse>>(
        'POST',
        path,
        body,
      );
      if (ids.length !== sent.length)
        throw new Error(
          `the service took ${ids.length} of ${counted(sent.length, 'row')}, up to row ${rows.at(-1)!.number}`,
        );
      return { inserted: rows.length, replaced: replaced + rows.length - sent.length };
    } catch (error) {
      if (!(error instanceof Refused) || !isOfRows(error)) throw error;
      if (rows.length === 1) {
        await rejects.add(rows[0]!.number, error.message.replace(/\$\.(\w+)\[0\]/, 'its $1'));
        return NONE_TAKEN;
      }
      if (signal.aborted) throw new BrokenOff();
      const half = rows.length >> 1;
      const first = await this.#insert(rows.slice(0, half));
      const second = await this.#insert(rows.slice(half));
      return { inserted: first.inserted + second.inserted, replaced: first.replaced + second.replaced };
    }
  }
}

const NONE_TAKEN: Taken = { inserted: 0, replaced: 0 };

/** The rows that were read. Their numbers may be those of lines, some of which are empty. */
const rowsIn = ({ inserted, rejected }: Reached): number => inserted + rejected;

/** A batch was abandoned after some of its halves: the service recognises their rows when they are sent again. */
class BrokenOff extends Error {}

/** Drops the rows whose external id a later row has: a batch may name an id once, and the later row would replace them. */
function withoutReplaced(rows: readonly NumberedRow[]): readonly NumberedRow[] {
  const last = new Map(rows.map(({ number, row }) => [row.externalId, number] as const));
  return rows.filter(({ number, row }) => row.externalId === null || last.get(row.externalId) === number);
}

const sharesId = (before: Batch, batch: Batch): boolean =>
  batch.rows.some(({ row }) => row.externalId !== null && before.externalIds.has(row.externalId));

const isLarge = ({ rows }: Batch): boolean => rows.length > BATCH_ROWS;

const emptyBatch = (): Batch => ({ rows: [], lastRow: 0, sizeBytes: 0, rejected: 0, externalIds: new Set() });

/** Whether fewer rows may be accepted: a row was refused, or the batch is too large. */
const isOfRows = ({ status }: Refused): boolean => status === 400 || status === 413;

const BYTES_PER_CHAR = 2;

/** A number of msgpack with its type. */
const NUMBER_BYTES = 9;

const sizeOf = ({ vector, text, metadata }: Row): number =>
  (vector instanceof Uint8Array ? vector.length : NUMBER_BYTES * vector.length) +
  BYTES_PER_CHAR * ((text?.length ?? 0) + (metadata === null ? 0 : JSON.stringify(metadata).length));
