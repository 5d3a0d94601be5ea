/** Records of every kind of leaf of a state tree. */
import { type LeafRecord, RECORD_STATE } from '../../../shard/audit/leaf.js';

export const record = (id: number): LeafRecord => ({
  state: RECORD_STATE.live,
  id,
  tag: 10 * id,
  insertedMs: 1_700_000_000_000 + id,
  vector: Uint8Array.of(id, 0, 1, 0),
  metadata: null,
  text: null,
  externalId: null,
});
export const RECORDS: readonly (LeafRecord | 'deleted')[] = [
  record(1),
  record(2),
  { ...record(3), state: RECORD_STATE.tombstoned, metadata: Buffer.from('{"a":1}') },
  { ...record(4), metadata: Buffer.alloc(0) },
  'deleted',
  { ...record(6), text: Buffer.from('six') },
  { ...record(7), metadata: Buffer.from('{}'), text: Buffer.from('seven') },
];
