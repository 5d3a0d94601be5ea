/** Chooses a client's writes of records with a vector, and repeats of its inserts. */
import { unreachable } from '../../../../shared/errors/errors.js';
import type { Merge, Row } from '../../history/records.js';
import type { WriteCall } from '../../history.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { Draws } from './draws.js';

const BATCH_MAX = 16;
/** Largest number of records in one change of metadata, and of events since a condition. */
const MERGED_MAX = 8;
const SINCE_BACK = 30;
/** Records by which a collection grows. From that size on, deletions outweigh inserts. */
const GROWTH_WANTED = 400;

type Choice = 'insert' | 'insertBatch' | 'repeat' | 'softDelete' | 'delete' | 'updateMetadata' | 'mergeMany';

/** Percentages of the calls, while a collection grows and when it has its size. */
const SHARES: Readonly<Record<Choice, { readonly growing: number; readonly full: number }>> = {
  insert: { growing: 42, full: 15 },
  insertBatch: { growing: 14, full: 3 },
  repeat: { growing: 6, full: 6 },
  softDelete: { growing: 14, full: 28 },
  delete: { growing: 10, full: 32 },
  updateMetadata: { growing: 11, full: 12 },
  mergeMany: { growing: 3, full: 4 },
};

export function recordWrite(draws: Draws, collection: string, known: Known): Wanted<WriteCall> {
  const { random } = draws;
  const choice = chosen(random.int(100), known);
  switch (choice) {
    case 'insert':
      return { op: 'insert', collection, row: draws.row(known.shape.dimension) };
    case 'insertBatch':
      return { op: 'insertBatch', collection, rows: batch(draws, known) };
    case 'repeat':
      return repeat(draws, collection, known);
    case 'softDelete':
    case 'delete':
      return { op: choice, collection, id: known.anyRecord(random), since: anySince(draws, known) };
    case 'updateMetadata': {
      const about = { collection, id: changeable(draws, known), since: anySince(draws, known) };
      if (draws.onceIn(2)) return { op: 'mergeMetadata', ...about, merge: anyMerge(draws) };
      return { op: 'updateMetadata', ...about, metadata: draws.metadata() };
    }
    case 'mergeMany': {
      const ids = new Set(Array.from({ length: 1 + random.int(MERGED_MAX) }, () => changeable(draws, known)));
      const of = draws.onceIn(8) ? { color: draws.color() } : { ids: [...ids] };
      return { op: 'mergeMany', collection, of, merge: anyMerge(draws) };
    }
    default:
      return unreachable(choice);
  }
}

/**
 * A guessed id may belong to an encrypted record, whose metadata cannot be changed. An id that never exists is sent instead.
 */
function changeable({ random }: Draws, { records }: Known): number {
  const picked = records.pick(random, () => Number.MAX_SAFE_INTEGER);
  return records.isGuess(picked) ? Number.MAX_SAFE_INTEGER : picked;
}

/** Mostly no condition; else an event that the log has, and after which the record may have changed. */
function anySince(draws: Draws, { sequence }: Known): number | null {
  return sequence === 0 || draws.random.int(4) > 0 ? null : Math.max(1, sequence - draws.random.int(SINCE_BACK));
}

function anyMerge(draws: Draws): Merge {
  const mark = draws.mark();
  return draws.onceIn(2) ? { mark } : { mark, color: draws.color() };
}

/** `percent`: a number below 100. */
function chosen(percent: number, { records, shape }: Known): Choice {
  if (records.size === 0) return 'insert';
  const phase = records.size > shape.rows + GROWTH_WANTED ? 'full' : 'growing';
  let end = 0;
  for (const choice of Object.keys(SHARES) as Choice[]) {
    end += SHARES[choice][phase];
    if (percent < end) return choice;
  }
  throw new Error('the shares add up to less than 100');
}

/** Draws the rows of a batch. One batch in four also has an answered row. */
function batch(draws: Draws, { rows: sent, shape }: Known): Row[] {
  const { random } = draws;
  const rows = Array.from({ length: 1 + random.int(BATCH_MAX) }, () => draws.row(shape.dimension));
  if (sent.length > 0 && draws.onceIn(4)) rows.splice(random.int(rows.length + 1), 0, random.pick(sent));
  return rows;
}

/** Repeats an answered insert; inserts a new row while none is answered. */
function repeat(draws: Draws, collection: string, known: Known): Wanted<WriteCall> {
  const { random } = draws;
  if (known.sentSecrets.length > 0 && draws.onceIn(4))
    return { op: 'insertEncrypted', collection, secret: random.pick(known.sentSecrets) };
  return {
    op: 'insert',
    collection,
    row: known.rows.length > 0 ? random.pick(known.rows) : draws.row(known.shape.dimension),
  };
}
