/** Receipts, checked alone and against the event and the checkpoints that they must be of. */
import {
  type Checkpoint,
  type ClaimedRecord,
  chainHead,
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

/** `proof` is there unless there are problems. */
interface Checked {
  readonly receipt: WriteReceipt;
  readonly proof?: Proof;
  readonly record?: ClaimedRecord | undefined;
  readonly problems: readonly string[];
}

export interface HeldReceipt {
  readonly receipt: WriteReceipt;
  readonly proof: Proof;
  readonly record: ClaimedRecord | undefined;
  /** What the event does; undefined where receipt and record do not tell all of it. */
  readonly told: string | undefined;
  /** Whether a checkpoint of the moment right after the write proves the state after it too. */
  readonly isSigned: boolean;
}

/**
 * Lists why the receipt does not hold, in itself or as that of the record where one is given. Throws an Error where the input
 * holds no receipt, or no record.
 */
export function checkReceiptAlone(json: unknown, recordJson: unknown): Checked {
  const receipt = receiptIn(json);
  const problems = [...notOfAnswer(json, receipt), ...verifyReceipt(receipt)];
  if (problems.length > 0) return { receipt, problems };
  const proof = readProof(receipt.proof);
  if (recordJson === undefined) return { receipt, proof, problems };
  const record = claimedRecord(recordJson, proof);
  problems.push(...verifyReceipt(receipt, record.values));
  if (problems.length === 0 && rebuiltEvent(proof, record) === undefined)
    problems.push(
      'its event is another than the write of this record (a request id is part of an insert: give it as request_id)',
    );
  return { receipt, proof, record, problems };
}

/** Throws an Error, in words about the receipt, unless it holds, and is of the proved event and of the signed log. */
export function receiptOfEvent(
  json: unknown,
  recordJson: unknown,
  { sequence, chainHead: head }: Inclusion,
  checkpoints: readonly Checkpoint[],
): HeldReceipt {
  const { receipt, proof, record, problems } = checkReceiptAlone(json, recordJson);
  if (proof === undefined || problems.length > 0) throw new Error(problems.join('; '));
  const isOfEvent =
    proof.sequence === sequence && toHex(chainHead(proof.chainHeadBefore, proof.eventHash)) === toHex(head);
  if (!isOfEvent) throw new Error('it is of another event');
  if (checkpoints.some(({ origin }) => origin.configHash !== toHex(proof.configHash)))
    throw new Error('it is of another collection than the checkpoint');
  const then = checkpoints.filter(({ size }) => size === sequence + 1n);
  if (then.some(({ stateHash }) => stateHash !== receipt.state_hash))
    throw new Error('its state hash is not that of the checkpoint');
  return { receipt, proof, record, told: rebuiltEvent(proof, record), isSigned: then.length > 0 };
}
