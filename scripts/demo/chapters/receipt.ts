/** Chapter of the demo: a write with its receipt, which is verified, altered and refused. */
import {
  type InsertResponse,
  type Receipt,
  type RecordResponse,
  type SentRecord,
  verifyReceipt,
} from '../../../client/index.js';
import { systemEntropy } from '../../../shared/clock.js';
import { FIXED_ONE } from '../../../shared/limits.js';
import type { Digit } from '../digits.js';
import { captionedLines } from '../pictures.js';
import { expect, fact, gap, show, tell } from '../story.js';
import type { Tour } from '../tour.js';

/** A write with its request id, with which it can be repeated. */
export interface SentInsert {
  readonly digit: Digit;
  readonly requestId: string;
  readonly answer: InsertResponse;
}

/** Sends the write. A repeated `requestId` gets the first answer again. */
export const send = (
  { vouch, options }: Tour,
  { digit, requestId }: Omit<SentInsert, 'answer'>,
): Promise<InsertResponse> =>
  vouch.collection('even').insert({ values: digit.pixels, requestId, metadata: { label: digit.label } }, options);

export async function receipt(tour: Tour): Promise<SentInsert> {
  const digit = tour.deal.late;
  const requestId = Buffer.from(systemEntropy(16)).toString('hex');
  const answer = await send(tour, { digit, requestId });
  show(captionedLines(digit.pixels, [`One more ${digit.label}, inserted by itself.`, 'The answer holds its receipt:']));
  show(receiptLines(answer.receipt));
  tell(
    'The verifier shares no code with the service. It computes the leaf from the record that the service returns. From there it ' +
      'follows the proof to both roots, and to the hash of the whole state.',
  );
  const record = await tour.vouch.collection('even').get(answer.id, tour.options);
  assertVerified(answer.receipt, record);
  fact('done', 'verified', `this write added record ${answer.id}, as it now reads, and nothing else`);
  showRefusals(answer.receipt, record);
  gap();
  return { digit, requestId, answer };
}

/** Throws unless the receipt verifies and is about this record. */
export function assertVerified(written: Receipt, record: RecordResponse): void {
  verifyReceipt(written, { record: sentRecord(record) });
}

/** Changes one bit of the proof, then one step of a grey value: the verifier must refuse both. */
function showRefusals(written: Receipt, record: RecordResponse): void {
  const proof = Buffer.from(written.proof, 'base64url');
  proof[proof.length - 1]! ^= 1;
  showRefusal('one bit of the proof changed', { ...written, proof: proof.toString('base64url') }, record);
  const vector = record.vector.with(0, 1 / FIXED_ONE);
  showRefusal('one grey value changed by 1/65536', written, { ...record, vector });
}

function showRefusal(what: string, written: Receipt, record: RecordResponse): void {
  let refusal: string | undefined;
  try {
    assertVerified(written, record);
  } catch (error) {
    refusal = (error as Error).message.replace(/^the receipt does not hold: /, '');
  }
  expect(refusal !== undefined, `${what}, and the receipt still holds`);
  fact('failed', 'refused', `${what}: ${refusal}`);
}

const sentRecord = ({ tag, vector, metadata }: RecordResponse): SentRecord => ({ values: vector, tag, metadata });

function receiptLines(written: Receipt): string[] {
  const bytes = Buffer.from(written.proof, 'base64url').length;
  const short = (text: string): string => `${text.slice(0, 24)} … ${text.slice(-8)}`;
  return [
    ['record_id', String(written.recordId)],
    ['old_root', short(written.oldRoot)],
    ['new_root', short(written.newRoot)],
    ['proof', `${short(written.proof)}  (${bytes} bytes)`],
    ['sequence', String(written.sequence)],
    ['timestamp', `${written.timestamp}  (${new Date(written.timestamp * 1000).toISOString()})`],
    ['state_hash', short(written.stateHash)],
  ].map(([name, text]) => `${name!.padEnd(14)}${text}`);
}
