/** Single proofs. Each answers whether it holds. */
import { type Checkpoint, verifyCheckpoint } from '../checkpoint.js';
import { type LogAt, verifyConsistency, verifyInclusion } from '../logProofs.js';
import { readJson } from './files.js';
import { instant, print, printSigner } from './print.js';
import { holdReceipt } from './receipts.js';
import type { ClaimFiles, Request } from './request.js';

export async function checkCheckpoint({ file, key }: Request & { command: 'checkpoint' }): Promise<boolean> {
  const json = await readJson(file);
  return attempt('checkpoint', () => printCheckpoint(verifyCheckpoint(json, key), key));
}

export async function checkInclusion({ file, ...files }: Request & { command: 'inclusion' }): Promise<boolean> {
  const json = await readJson(file);
  const receipts = await Promise.all(files.receipts.map(readJson));
  const record = files.record === undefined ? undefined : await readJson(files.record);
  const checkpoints = await readCheckpoints(files);
  return attempt('inclusion', () => {
    const inclusion = verifyInclusion(json);
    const { sequence, log, chainHead: head } = inclusion;
    print('done', 'inclusion', `event ${sequence} is in the log of ${log.size} events with this root`);
    print('plain', 'log root', log.root.toString('hex'));
    print('plain', 'chain head', `${head.toString('hex')} after the event`);
    const signed = checkpoints.map((checkpoint) => verifyCheckpoint(checkpoint, files.key));
    for (const receipt of receipts) holdReceipt(receipt, record, inclusion, signed);
    for (const checkpoint of signed) holdAgainst(checkpoint, files, [log]);
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
    for (const checkpoint of checkpoints) holdAgainst(verifyCheckpoint(checkpoint, files.key), files, [from, to]);
  });
}

const readCheckpoints = ({ checkpoints }: ClaimFiles): Promise<unknown[]> => Promise.all(checkpoints.map(readJson));

/** The checkpoint must be of one of the logs. */
function holdAgainst(checkpoint: Checkpoint, { key }: ClaimFiles, logs: readonly LogAt[]): void {
  if (!logs.some(({ size, root }) => size === checkpoint.size && root.toString('hex') === checkpoint.root))
    throw new Error(`the checkpoint of ${checkpoint.size} events is of no log that the proof is about`);
  printCheckpoint(checkpoint, key);
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
