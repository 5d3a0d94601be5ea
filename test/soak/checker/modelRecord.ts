/** Life of each record of a log, in the simplest way. */
import type { CollectionLog, LoggedEvent } from './log.js';
import { type Interval, NEVER } from './span.js';

/** Each time is a sequence; infinite if it never comes. */
export interface ModelRecord {
  readonly id: number;
  /** Undefined: encrypted. */
  readonly vector: readonly number[] | undefined;
  /** Words of its text; empty without a text. */
  readonly words: readonly string[];
  readonly secret: { readonly mark: number; readonly keyId: string } | undefined;
  readonly bornAt: number;
  /** End of its life: deleted in any way, or lost with its key. */
  diedAt: number;
  /** Tombstoned or deleted. */
  removedAt: number;
  /** Gone, even as a tombstone. */
  goneAt: number;
  lostAt: number;
  /** Oldest first; each is valid until the next. */
  readonly versions: { readonly from: number; readonly color: number; readonly mark: number }[];
}

/** Record `id` is at index `id − 1`. */
export function recordsOf(log: CollectionLog): ModelRecord[] {
  const records: ModelRecord[] = [];
  for (const [i, { event }] of log.entries.entries()) apply(event, i + 1, records);
  return records;
}

function apply(event: LoggedEvent, sequence: number, records: ModelRecord[]): void {
  const times = { bornAt: sequence, diedAt: NEVER, removedAt: NEVER, goneAt: NEVER, lostAt: NEVER };
  switch (event.type) {
    case 'insert': {
      const { recordId: id, vector, metadata, text } = event;
      const words = text === null ? [] : text.split(' ');
      records[id - 1] = { id, vector, words, secret: undefined, ...times, versions: [{ from: sequence, ...metadata }] };
      return;
    }
    case 'insertEncrypted': {
      const { recordId: id, mark, keyId } = event;
      records[id - 1] = { id, vector: undefined, words: [], secret: { mark, keyId }, ...times, versions: [] };
      return;
    }
    case 'shredKey':
      for (const record of records)
        if (record?.secret?.keyId === event.keyId) {
          record.lostAt = Math.min(record.lostAt, sequence);
          record.diedAt = Math.min(record.diedAt, sequence);
        }
      return;
    case 'updateMetadata':
      records[event.recordId - 1]?.versions.push({ from: sequence, ...event.metadata });
      return;
    case 'softDelete':
    case 'delete':
    case 'expire': {
      const record = records[event.recordId - 1];
      if (record === undefined) return;
      record.removedAt = Math.min(record.removedAt, sequence);
      record.diedAt = Math.min(record.diedAt, sequence);
      if (event.type !== 'softDelete') record.goneAt = Math.min(record.goneAt, sequence);
    }
  }
}

/** Intervals in which the record was alive and had that colour. */
export function* matching({ bornAt, diedAt, versions }: ModelRecord, color: number | null): Generator<Interval> {
  if (color === null) {
    yield [bornAt, diedAt];
    return;
  }
  for (const [i, version] of versions.entries())
    if (version.color === color) yield [version.from, Math.min(diedAt, versions[i + 1]?.from ?? NEVER)];
}
