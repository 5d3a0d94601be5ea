/** Checks single proofs and receipts, and both together. */
import {
  type Actor,
  actorText,
  type Checkpoint,
  type LogAt,
  type LoggedCheckpoint,
  type Policy,
  toHex,
  verifyCheckpoint,
  verifyConsistency,
  verifyInclusion,
  verifyLogged,
} from '../../verifier/index.js';
import { counted } from '../terminal/line.js';
import { readJson, readPolicy } from './files.js';
import { type Asked, holdAsked, isSameName, printOtherName, titleOf } from './names.js';
import { instant, print, printSigner, type Verdict, worst } from './print.js';
import { type CheckedReceipt, checkReceiptAlone, receiptOfEvent } from './receipts.js';
import type { ClaimFiles, FileRequest } from './request.js';

/** The signer and the service log that must confirm a checkpoint; both may be undefined. */
interface Trust {
  readonly key: string | undefined;
  readonly policy: Policy | undefined;
}

/** A valid checkpoint, and, with a policy, its place in the service log. */
interface Signed {
  readonly checkpoint: Checkpoint;
  readonly log?: LoggedCheckpoint['log'];
}

const trustOf = async ({ key, policy }: ClaimFiles): Promise<Trust> => ({
  key,
  policy: policy === undefined ? undefined : await readPolicy(policy),
});

/** Throws an Error unless the checkpoint is valid. */
const signedBy = (json: unknown, { key, policy }: Trust): Signed =>
  policy === undefined ? { checkpoint: verifyCheckpoint(json, key) } : verifyLogged(json, policy, key);

export async function checkCheckpoint({ file, ...files }: FileRequest): Promise<Verdict> {
  const json = await readJson('checkpoint', file);
  const trust = await trustOf(files);
  return attempt('checkpoint', () => {
    const signed = signedBy(json, trust);
    return worst([printCheckpoint(signed, trust), holdAsked('checkpoint', signed.checkpoint.origin, files)]);
  });
}

export async function checkInclusion({ file, ...files }: FileRequest): Promise<Verdict> {
  const json = await readJson('inclusion', file);
  const receipts = await Promise.all(files.receipts.map((receipt) => readJson('receipt', receipt)));
  const record = files.record === undefined ? undefined : await readJson('record', files.record);
  const checkpoints = await readCheckpoints(files);
  const trust = await trustOf(files);
  return attempt('inclusion', () => {
    const inclusion = verifyInclusion(json);
    const { sequence, log, chainHead: head } = inclusion;
    print('done', 'inclusion', `event ${sequence} is in the log of ${counted(log.size, 'event')} with this root`);
    print('plain', 'log root', toHex(log.root));
    print('plain', 'chain head', `${toHex(head)} after the event`);
    const signed = checkpoints.map((checkpoint) => signedBy(checkpoint, trust));
    const states = signed.map(({ checkpoint }) => checkpoint);
    const checked = receipts.map((receipt) =>
      attempt('receipt', () => printChecked(receiptOfEvent(receipt, record, inclusion, states))),
    );
    const verdicts = signed.map((checkpoint) => holdAgainst(checkpoint, trust, [log]));
    return worst([...checked, ...verdicts, ...holdNames(states, files), ...holdRecordName(record, states)]);
  });
}

export async function checkConsistency({ file, ...files }: FileRequest): Promise<Verdict> {
  const json = await readJson('consistency', file);
  const checkpoints = await readCheckpoints(files);
  const trust = await trustOf(files);
  return attempt('consistency', () => {
    const { from, to } = verifyConsistency(json);
    if (from.size === 0n) print('warning', 'consistency', 'every log begins with the empty one: this proves nothing');
    else
      print(
        'done',
        'consistency',
        `the log of ${counted(to.size, 'event')} begins with all ${from.size} of the earlier one`,
      );
    print('plain', 'earlier root', toHex(from.root));
    print('plain', 'later root', toHex(to.root));
    const signed = checkpoints.map((json) => signedBy(json, trust));
    const verdicts = signed.map((checkpoint) => holdAgainst(checkpoint, trust, [from, to]));
    const states = signed.map(({ checkpoint }) => checkpoint);
    return worst([...verdicts, ...holdNames(states, files)]);
  });
}

const readCheckpoints = ({ checkpoints }: ClaimFiles): Promise<unknown[]> =>
  Promise.all(checkpoints.map((checkpoint) => readJson('checkpoint', checkpoint)));

/** Compares the names of all checkpoints with the requested name, and with each other: an import has the log of its original. */
function holdNames(checkpoints: readonly Checkpoint[], asked: Asked): Verdict[] {
  return checkpoints.map(({ origin }, i) => {
    const verdict = holdAsked('checkpoint', origin, asked);
    const [first] = checkpoints;
    if (verdict !== 'holds' || i === 0 || isSameName(origin, first!.origin)) return verdict;
    return printOtherName('checkpoint', origin, `${titleOf(first!.origin)}, as in the first checkpoint`);
  });
}

/** Compares the collection that the body of the insert names with those of the checkpoints. */
function holdRecordName(record: unknown, checkpoints: readonly Checkpoint[]): Verdict[] {
  const named = (record as { readonly collection?: unknown } | undefined)?.collection;
  if (typeof named !== 'string') return [];
  return checkpoints
    .filter(({ origin }) => origin.name !== named)
    .map(({ origin }) => printOtherName('checkpoint', origin, `${named}, as in the record`));
}

/** Throws an Error unless the checkpoint is of one of the logs. */
function holdAgainst(signed: Signed, trust: Trust, logs: readonly LogAt[]): Verdict {
  const { checkpoint } = signed;
  if (!logs.some(({ size, root }) => size === checkpoint.size && toHex(root) === checkpoint.root))
    throw new Error(`the checkpoint of ${counted(checkpoint.size, 'event')} is not of a log in the proof`);
  return printCheckpoint(signed, trust);
}

function printCheckpoint({ checkpoint, log }: Signed, { key }: Trust): Verdict {
  const { origin, size, timeMs, publicKey, ...hashes } = checkpoint;
  print('done', 'checkpoint', `${titleOf(origin)}: ${counted(size, 'event')}, ${instant(timeMs)}`);
  print('plain', 'log root', hashes.root);
  print('plain', 'chain head', hashes.chainHead);
  print('plain', 'state hash', hashes.stateHash);
  if (log === undefined) return printSigner(publicKey, key);
  const { index, size: entries, origin: logName, witnesses } = log;
  print('done', 'service log', `entry ${index} of the ${entries} of ${logName}`);
  for (const { name, timeSecs } of witnesses)
    print('done', 'cosigned by', `${name}, ${instant(BigInt(timeSecs) * 1000n)}`);
  if (witnesses.length === 0) print('warning', 'cosigned by', 'no witness, and the policy requires none');
  print(
    key === undefined ? 'plain' : 'done',
    'signed with',
    key === undefined ? publicKey : `${publicKey}, the key that was given`,
  );
  return 'holds';
}

/** The verdict of the work; an Error refuses. */
export function attempt(name: string, work: () => Verdict): Verdict {
  try {
    return work();
  } catch (error) {
    print('failed', name, (error as Error).message);
    return 'refused';
  }
}

const JUST_THESE_VALUES = 'the write wrote exactly these values';

export async function checkReceipt({ file, record }: FileRequest): Promise<Verdict> {
  const json = await readJson('receipt', file);
  const recordJson = record === undefined ? undefined : await readJson('record', record);
  const { receipt, proof, problems } = checkReceiptAlone(json, recordJson);
  for (const problem of problems) print('failed', 'receipt', problem);
  if (problems.length > 0) return 'refused';
  const { sequence, record_id, state_hash } = receipt;
  print('done', 'receipt', `holds: write ${sequence}, record ${record_id}, state ${state_hash}`);
  printActor(proof?.actor);
  if (record !== undefined) print('done', 'record', JUST_THESE_VALUES);
  return 'holds';
}

/** Prints who made the write. Events of version 1 do not say. */
function printActor(actor: Actor | null | undefined): void {
  if (actor != null) print('plain', 'by', actorText(actor));
}

/**
 * Prints what the proof shows: that the event is in the log. If the event can be rebuilt, also its content: all values of an
 * insert, and the record of a change.
 */
function printChecked({ proof, record, event, isSigned }: CheckedReceipt): Verdict {
  const what = event === undefined ? '' : `${event} of `;
  print('done', 'receipt', `of this event: write ${proof.sequence}, ${what}record ${proof.recordId}`);
  printActor(proof.actor);
  const isOfEvent = event === 'insert' || event === 'replacement' || event === 'delete';
  if (record !== undefined && (isSigned || isOfEvent)) print('done', 'record', JUST_THESE_VALUES);
  else if (record !== undefined)
    print('warning', 'record', 'its values come from the receipt alone: verify the receipt of its insert too');
  else if (event === undefined && !isSigned)
    print(
      'warning',
      'record',
      'its number and values come from the receipt alone: give the inserted record with --record',
    );
  return 'holds';
}
