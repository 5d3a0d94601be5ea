/** Receipts by themselves, and under a proof that their event is in a log. */
import type { Checkpoint } from '../checkpoint.js';
import { chainHead } from '../hashing.js';
import type { Inclusion } from '../logProofs.js';
import { notOfAnswer, type Proof, readProof, receiptIn, verifyReceipt, type WriteReceipt } from '../receipt.js';
import { eventTold, type ToldRecord } from '../receiptEvent.js';
import { readJson } from './files.js';
import { print } from './print.js';
import { toldRecord } from './recordFile.js';
import type { Request } from './request.js';

interface Checked {
  readonly receipt: WriteReceipt;
  readonly proof: Proof;
  readonly record: ToldRecord | undefined;
}

const JUST_THESE_VALUES = 'the write made just these values';

/** Answers whether it holds. */
export async function checkReceipt({ file, record }: Request & { command: 'receipt' }): Promise<boolean> {
  const json = await readJson(file);
  const recordJson = record === undefined ? undefined : await readJson(record);
  const { receipt, problems } = checked(json, recordJson);
  for (const problem of problems) print('failed', 'receipt', problem);
  if (problems.length > 0) return false;
  print(
    'done',
    'receipt',
    `holds: write ${receipt.sequence}, record ${receipt.record_id}, state ${receipt.state_hash}`,
  );
  if (record !== undefined) print('done', 'record', JUST_THESE_VALUES);
  return true;
}

/** Throws an Error where there is no receipt in it, or no record in what is given as one. */
function checked(json: unknown, recordJson: unknown): Partial<Checked> & { receipt: WriteReceipt; problems: string[] } {
  const receipt = receiptIn(json);
  const problems = [...notOfAnswer(json, receipt), ...verifyReceipt(receipt)];
  if (problems.length > 0) return { receipt, problems };
  const proof = readProof(receipt.proof);
  if (recordJson === undefined) return { receipt, proof, problems };
  const record = toldRecord(recordJson, proof);
  problems.push(...verifyReceipt(receipt, record.values));
  if (problems.length === 0 && eventTold(proof, record) === undefined)
    problems.push(
      'its event is another than the write of this record (a request id is part of an insert: give it as request_id)',
    );
  return { receipt, proof, record, problems };
}

/** The receipt must be of the event that the proof is about, and of the log that was signed. Throws an Error where not. */
export function holdReceipt(
  json: unknown,
  recordJson: unknown,
  { sequence, chainHead: head }: Inclusion,
  checkpoints: readonly Checkpoint[],
): void {
  const { receipt, proof, record, problems } = checked(json, recordJson);
  if (proof === undefined || problems.length > 0) throw new Error(`the receipt: ${problems.join('; ')}`);
  const isOfEvent = proof.sequence === sequence && chainHead(proof.chainHeadBefore, proof.eventHash).equals(head);
  if (!isOfEvent) throw new Error('the receipt is of another event');
  if (checkpoints.some(({ origin }) => origin.configHash !== proof.configHash.toString('hex')))
    throw new Error('the receipt is of another collection than the checkpoint');
  const then = checkpoints.filter(({ size }) => size === sequence + 1n);
  if (then.some(({ stateHash }) => stateHash !== receipt.state_hash))
    throw new Error('the receipt has another state hash than the checkpoint');
  printHeld({ receipt, proof, record }, then.length > 0);
}

/**
 * The proof shows that the event is in the log, and nothing of what else the receipt says. What the event tells follows where
 * it can be made anew: all values of an insert, and which record a change is about. `isSigned`: so does the state after it.
 */
function printHeld({ proof, record }: Checked, isSigned: boolean): void {
  const told = eventTold(proof, record);
  const what = told === undefined ? '' : `${told} of `;
  print('done', 'receipt', `of this event: write ${proof.sequence}, ${what}record ${proof.recordId}`);
  const isOfEvent = told === 'insert' || told === 'delete';
  if (record !== undefined && (isSigned || isOfEvent)) print('done', 'record', JUST_THESE_VALUES);
  else if (record !== undefined)
    print('warning', 'record', 'what its insert made it is the word of the receipt: prove that too');
  else if (told === undefined && !isSigned)
    print('warning', 'record', 'number and values are the word of the receipt: give what was sent with --record');
}
