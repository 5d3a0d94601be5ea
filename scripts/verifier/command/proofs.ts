/** Single proofs. Each answers whether it holds. */
import { type Checkpoint, verifyCheckpoint } from '../checkpoint.js';
import { chainHead } from '../hashing.js';
import { type LogAt, verifyConsistency, verifyInclusion } from '../logProofs.js';
import { readProof, receiptIn, verifyReceipt } from '../receipt.js';
import { readJson } from './files.js';
import { instant, print, printSigner } from './print.js';
import { recordValues } from './recordFile.js';
import type { ClaimFiles, Request } from './request.js';

export async function checkReceipt({ file, record }: Request & { command: 'receipt' }): Promise<boolean> {
  const receipt = receiptIn(await readJson(file));
  const problems = verifyReceipt(receipt);
  if (problems.length === 0 && record !== undefined) {
    const values = recordValues(await readJson(record), readProof(receipt.proof));
    problems.push(...verifyReceipt(receipt, values));
  }
  for (const problem of problems) print('failed', 'receipt', problem);
  if (problems.length > 0) return false;
  print(
    'done',
    'receipt',
    `holds: write ${receipt.sequence}, record ${receipt.record_id}, state ${receipt.state_hash}`,
  );
  if (record !== undefined) print('done', 'record', 'the write made just these values');
  return true;
}

export async function checkCheckpoint({ file, key }: Request & { command: 'checkpoint' }): Promise<boolean> {
  const json = await readJson(file);
  return attempt('checkpoint', () => printCheckpoint(verifyCheckpoint(json, key), key));
}

export async function checkInclusion({ file, ...files }: Request & { command: 'inclusion' }): Promise<boolean> {
  const json = await readJson(file);
  const receipts = await Promise.all(files.receipts.map(readJson));
  const checkpoints = await readCheckpoints(files);
  return attempt('inclusion', () => {
    const { sequence, log, chainHead: head } = verifyInclusion(json);
    print('done', 'inclusion', `event ${sequence} is in the log of ${log.size} events with this root`);
    print('plain', 'log root', log.root.toString('hex'));
    print('plain', 'chain head', `${head.toString('hex')} after the event`);
    for (const receipt of receipts) {
      const proof = readOwn(receipt);
      const isOfEvent = proof.sequence === sequence && chainHead(proof.chainHeadBefore, proof.eventHash).equals(head);
      if (!isOfEvent) throw new Error('the receipt is of another event');
      print('done', 'receipt', `of this event: write ${proof.sequence}, record ${proof.recordId}`);
    }
    for (const checkpoint of checkpoints) holdAgainst(checkpoint, files, [log]);
  });
}

export async function checkConsistency({ file, ...files }: Request & { command: 'consistency' }): Promise<boolean> {
  const json = await readJson(file);
  const checkpoints = await readCheckpoints(files);
  return attempt('consistency', () => {
    const { from, to } = verifyConsistency(json);
    if (from.size === 0n) print('warning', 'consistency', 'every log begins with the empty one: this shows nothing');
    else print('done', 'consistency', `the log of ${to.size} events begins with all ${from.size} of the earlier one`);
    print('plain', 'earlier root', from.root.toString('hex'));
    print('plain', 'later root', to.root.toString('hex'));
    for (const checkpoint of checkpoints) holdAgainst(checkpoint, files, [from, to]);
  });
}

const readCheckpoints = ({ checkpoints }: ClaimFiles): Promise<unknown[]> => Promise.all(checkpoints.map(readJson));

/** The checkpoint must be of one of the logs. */
function holdAgainst(json: unknown, { key }: ClaimFiles, logs: readonly LogAt[]): void {
  const checkpoint = verifyCheckpoint(json, key);
  if (!logs.some(({ size, root }) => size === checkpoint.size && root.toString('hex') === checkpoint.root))
    throw new Error(`the checkpoint of ${checkpoint.size} events is of no log that the proof is about`);
  printCheckpoint(checkpoint, key);
}

function readOwn(json: unknown) {
  const receipt = receiptIn(json);
  const problems = verifyReceipt(receipt);
  if (problems.length > 0) throw new Error(`the receipt: ${problems.join('; ')}`);
  return readProof(receipt.proof);
}

function printCheckpoint({ origin, size, timeMs, publicKey, ...hashes }: Checkpoint, key: string | undefined): void {
  print('done', 'checkpoint', `${origin.project}/${origin.name}, id ${origin.id}: ${size} events, ${instant(timeMs)}`);
  print('plain', 'log root', hashes.root);
  print('plain', 'chain head', hashes.chainHead);
  print('plain', 'state hash', hashes.stateHash);
  printSigner(publicKey, key);
}

function attempt(name: string, work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    print('failed', name, (error as Error).message);
    return false;
  }
}
