/** Chooses a client's writes of records with a vector. */
import type { Row } from '../../history/records.js';
import type { WriteCall } from '../../history.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { Draws } from './draws.js';

const BATCH_MAX = 16;
/** Approximate growth of a collection in records; then deletions keep it at that size. */
const GROWTH_WANTED = 400;

export function recordWrite(draws: Draws, collection: string, known: Known): Wanted<WriteCall> {
  const { random } = draws;
  const chance = random.int(100);
  const isFull = known.records.size > known.shape.rows + GROWTH_WANTED;
  if (known.records.size === 0 || chance < (isFull ? 15 : 42))
    return { op: 'insert', collection, row: draws.row(known.shape.dimension) };
  if (chance < (isFull ? 18 : 56)) return { op: 'insertBatch', collection, rows: batch(draws, known) };
  if (chance < (isFull ? 24 : 62)) return repeat(draws, collection, known);
  if (chance < (isFull ? 52 : 76)) return { op: 'softDelete', collection, id: known.anyRecord(random) };
  if (chance < (isFull ? 84 : 86)) return { op: 'delete', collection, id: known.anyRecord(random) };
  // A guessed id may belong to an encrypted record, which has no metadata to change: so guesses are replaced by an id
  // that never exists.
  const picked = known.records.pick(random, () => Number.MAX_SAFE_INTEGER);
  const id = known.records.isGuess(picked) ? Number.MAX_SAFE_INTEGER : picked;
  return { op: 'updateMetadata', collection, id, metadata: draws.metadata() };
}

/** Sometimes includes a row that was written before. */
function batch(draws: Draws, { rows: sent, shape }: Known): Row[] {
  const { random } = draws;
  const rows = Array.from({ length: 1 + random.int(BATCH_MAX) }, () => draws.row(shape.dimension));
  if (sent.length > 0 && draws.onceIn(4)) rows.splice(random.int(rows.length + 1), 0, random.pick(sent));
  return rows;
}

/** Repeats an answered insert. */
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
