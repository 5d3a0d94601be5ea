import type { InsertResponse, RecordResponse } from '../../../coordinator/contract/records.js';
import { systemEntropy } from '../../../shared/clock.js';
import { FIXED_ONE } from '../../../shared/limits.js';
import { type RecordValues, readProof, verifyReceipt, type WriteReceipt } from '../../../verifier/index.js';
import type { DemoClient, Tour } from '../client.js';
import type { Digit } from '../digits.js';
import { captionedLines } from '../pictures.js';
import { expect, fact, gap, show, tell } from '../story.js';

/** A write, with its request id for sending it again. */
export interface SentInsert {
  readonly digit: Digit;
  readonly requestId: string;
  readonly answer: InsertResponse;
}

/** Sends the write. A repeated `requestId` gets the first answer again. */
export const send = ({ digit, requestId }: Omit<SentInsert, 'answer'>, client: DemoClient): Promise<InsertResponse> =>
  client.call('POST', '/v1/records', {
    ...{ collection: 'even', values: digit.pixels, request_id: requestId },
    metadata: [...Buffer.from(JSON.stringify({ label: digit.label }))],
  });

export async function receipt({ client, deal }: Tour): Promise<SentInsert> {
  const digit = deal.late;
  const requestId = Buffer.from(systemEntropy(16)).toString('hex');
  const answer = await send({ digit, requestId }, client);
  show(captionedLines(digit.pixels, [`One more ${digit.label}, inserted by itself.`, 'The answer holds its receipt:']));
  show(receiptLines(answer.receipt));
  tell(
    'The verifier shares no code with the service. It follows the proof from the leaf of this record up to both ' +
      'roots, and on to the hash of the whole state; and it takes the record, as the service gives it back, for the leaf.',
  );
  const record = await client.record('even', answer.id);
  assertVerified(answer.receipt, record);
  fact('done', 'verified', `this write added record ${answer.id}, as it now reads, and nothing else`);
  showRefusals(answer.receipt, record);
  gap();
  return { digit, requestId, answer };
}

/** Throws unless the receipt verifies and is about this record. */
export function assertVerified(written: WriteReceipt, record: RecordResponse): void {
  const problems = verifyReceipt(written, valuesOf(record, written));
  expect(problems.length === 0, `the receipt does not hold: ${problems.join(', ')}`);
}

/** Changes one bit of the proof, then one step of a grey value: the verifier must refuse both. */
function showRefusals(written: WriteReceipt, record: RecordResponse): void {
  const proof = Buffer.from(written.proof, 'base64url');
  proof[proof.length - 1]! ^= 1;
  const forged = { ...written, proof: proof.toString('base64url') };
  refused('one bit of the proof changed', verifyReceipt(forged, valuesOf(record, written)));

  const vector = record.vector.with(0, 1 / FIXED_ONE);
  refused('one grey value changed by 1/65536', verifyReceipt(written, valuesOf({ ...record, vector }, written)));
}

function refused(what: string, problems: readonly string[]): void {
  expect(problems.length > 0, `${what}, and the receipt still holds`);
  fact('failed', 'refused', `${what}: ${problems.join('; ')}`);
}

/** The record in the verifier's terms. Stored grey values are whole 65536ths. */
function valuesOf({ id, tag, vector, metadata }: RecordResponse, { proof }: WriteReceipt): RecordValues {
  const components = new DataView(new ArrayBuffer(4 * vector.length));
  for (const [at, value] of vector.entries()) components.setInt32(4 * at, value * FIXED_ONE, true);
  return {
    state: 'live',
    id: BigInt(id),
    tag: BigInt(tag),
    insertedMs: readProof(proof).timeMs,
    vector: new Uint8Array(components.buffer),
    metadata: Buffer.from(JSON.stringify(metadata)),
    text: null,
    externalId: null,
  };
}

function receiptLines(written: WriteReceipt): string[] {
  const bytes = Buffer.from(written.proof, 'base64url').length;
  const short = (text: string): string => `${text.slice(0, 24)} … ${text.slice(-8)}`;
  return [
    ['record_id', String(written.record_id)],
    ['old_root', short(written.old_root)],
    ['new_root', short(written.new_root)],
    ['proof', `${short(written.proof)}  (${bytes} bytes)`],
    ['sequence', String(written.sequence)],
    ['timestamp', `${written.timestamp}  (${new Date(written.timestamp * 1000).toISOString()})`],
    ['state_hash', short(written.state_hash)],
  ].map(([name, text]) => `${name!.padEnd(14)}${text}`);
}
