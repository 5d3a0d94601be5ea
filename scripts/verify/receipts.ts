/** Checks receipts alone, and against their event and checkpoints. */
import {
  type Checkpoint,
  type ClaimedRecord,
  chainHeadAfter,
  claimedRecord,
  type Inclusion,
  notOfAnswer,
  type Proof,
  readProof,
  rebuiltEvent,
  receiptIn,
  toHex,
  verifyReceipt,
  type WriteReceipt,
} from '../../verifier/index.js';

/** `proof` is defined unless there are problems. */
interface Checked {
  readonly receipt: WriteReceipt;
  readonly proof?: Proof;
  readonly record?: ClaimedRecord | undefined;
  readonly problems: readonly string[];
}

export interface CheckedReceipt {
  readonly receipt: WriteReceipt;
  readonly proof: Proof;
  readonly record: ClaimedRecord | undefined;
  /** The kind of the event; undefined if it cannot be rebuilt from receipt and record. */
  readonly event: string | undefined;
  /** Whether a checkpoint of the moment right after the write proves the state after it too. */
  readonly isSigned: boolean;
}

/**
 * Lists the problems of the receipt, in itself and, if a record is given, as that of the record. Throws an Error if the input
 * is not a receipt, or not a record.
 */
export function checkReceiptAlone(json: unknown, recordJson: unknown): Checked {
  const receipt = receiptIn(json);
  const problems = [...notOfAnswer(json, receipt), ...verifyReceipt(receipt)];
  if (problems.length > 0) return { receipt, problems };
  const proof = readProof(receipt.proof);
  if (recordJson === undefined) return { receipt, proof, problems };
  const record = claimedRecord(recordJson, proof);
  problems.push(...verifyReceipt(receipt, record.values));
  // The event of a record under a key has ciphertext, which only the log has.
  const isUnderKey = record.values !== 'deleted' && record.values.underKey !== undefined;
  if (problems.length === 0 && !isUnderKey && rebuiltEvent(proof, record) === undefined)
    problems.push(
      'its event is not the write of this record (a request id is part of an insert: give it as request_id)',
    );
  return { receipt, proof, record, problems };
}

/** Throws an Error about the receipt unless it is valid, and is of the proved event and of the signed log. */
export function receiptOfEvent(
  json: unknown,
  recordJson: unknown,
  { sequence, chainHead: head }: Inclusion,
  checkpoints: readonly Checkpoint[],
): CheckedReceipt {
  const { receipt, proof, record, problems } = checkReceiptAlone(json, recordJson);
  if (proof === undefined || problems.length > 0) throw new Error(problems.join('; '));
  const isOfEvent = proof.sequence === sequence && toHex(chainHeadAfter(proof)) === toHex(head);
  if (!isOfEvent) throw new Error('it is of another event');
  if (checkpoints.some(({ origin }) => origin.configHash !== toHex(proof.configHash)))
    throw new Error('it is of another collection than the checkpoint');
  const then = checkpoints.filter(({ size }) => size === sequence + 1n);
  if (then.some(({ stateHash }) => stateHash !== receipt.state_hash))
    throw new Error('its state hash is not that of the checkpoint');
  return { receipt, proof, record, event: rebuiltEvent(proof, record), isSigned: then.length > 0 };
}
