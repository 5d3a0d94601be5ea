/** Checks certificates of erasure. */
import {
  actorText,
  type ErasedCollection,
  type ErasedContent,
  type Erasure,
  type Policy,
  signersOf,
  verifyErasure,
} from '../../verifier/index.js';
import { counted } from '../terminal/line.js';
import { readJson, readPolicy } from './files.js';
import { titleOf } from './names.js';
import { instant, print, type Verdict, worst } from './print.js';
import { attempt } from './proofs.js';
import type { FileRequest } from './request.js';

/** Events that are listed for each collection. */
const LISTED = 20;

/** Checks the certificates of an answer of the service, or a single one. */
export async function checkErasures({ file, signers, policy }: FileRequest): Promise<Verdict> {
  const json = await readJson('erasure', file);
  const trusted = policy === undefined ? undefined : await readPolicy(policy);
  const { partial_failures: failures } = json as { readonly partial_failures?: unknown };
  const certificates = certificatesIn(json);
  const verdicts = certificates.map((one) => attempt('certificate', () => checkErasure(one, signers, trusted)));
  if (Array.isArray(failures) && failures.length > 0)
    print('warning', 'not certified', `${counted(failures.length, 'key')}, as partial_failures of the answer says`);
  return worst(verdicts);
}

/** The certificates of an answer, or the single one. Throws an Error if the answer has no certificate. */
export function certificatesIn(json: unknown): readonly unknown[] {
  const { certificates = [json] } = json as { readonly certificates?: unknown };
  if (!Array.isArray(certificates) || certificates.length === 0) throw new Error('the answer has no certificate');
  return certificates;
}

function checkErasure(json: unknown, keys: readonly string[], policy: Policy | undefined): Verdict {
  const erasure = verifyErasure(json, policy);
  const { project, keyId, timeMs, collections, deleted } = erasure;
  print('done', 'certificate', `key ${keyId} of project ${project} is destroyed, ${instant(timeMs)}`);
  for (const one of collections) printCollection(one);
  for (const id of deleted) print('plain', 'deleted', `collection ${id}, with its log`);
  if (collections.length + deleted.length === 0) print('plain', 'collections', 'none had content under it');
  return printSigners(erasure, keys);
}

function printCollection({ checkpoint, log, shred, contents }: ErasedCollection): void {
  const { sequence, timeMs, actor } = shred;
  print('done', 'collection', `${titleOf(checkpoint.origin)}: erased by event ${sequence}, ${instant(timeMs)}`);
  if (actor !== null) print('plain', 'by', actorText(actor));
  const records = new Set(contents.map(({ recordId }) => recordId)).size;
  print('done', 'contents', `${counted(contents.length, 'event')} of ${counted(records, 'record')}`);
  for (const content of contents.slice(0, LISTED)) print('plain', '', contentText(content));
  if (contents.length > LISTED) print('plain', '', `and ${counted(contents.length - LISTED, 'event')} more`);
  print('done', 'checkpoint', `${counted(checkpoint.size, 'event')}, ${instant(checkpoint.timeMs)}`);
  if (log !== undefined) print('done', 'service log', `entry ${log.index} of the ${log.size} of ${log.origin}`);
  for (const { name, timeSecs } of log?.witnesses ?? [])
    print('done', 'cosigned by', `${name}, ${instant(BigInt(timeSecs) * 1000n)}`);
}

function contentText({ sequence, recordId, timeMs, type, commitment, isInState }: ErasedContent): string {
  const what = type.replaceAll('_', ' ');
  const state = isInState ? ', which is in the signed state' : '';
  return `event ${sequence}, ${instant(timeMs)}: ${what}, record ${recordId}${state}, commitment ${commitment}`;
}

/** Compares the keys of all signatures with the given ones, and with those that the service log vouches for. */
function printSigners(erasure: Erasure, keys: readonly string[]): Verdict {
  const logged = erasure.collections.flatMap(({ log, checkpoint }) =>
    log === undefined ? [] : [checkpoint.publicKey],
  );
  const verdicts = signersOf(erasure).map((publicKey): Verdict => {
    const why = keys.includes(publicKey) ? 'a key that was given' : 'a key that the service log vouches for';
    if (keys.includes(publicKey) || logged.includes(publicKey)) {
      print('done', 'signed with', `${publicKey}, ${why}`);
      return 'holds';
    }
    if (keys.length > 0) throw new Error(`it is signed with another key, ${publicKey}`);
    print('warning', 'signed with', publicKey);
    print('plain', '', 'this signer is unknown: give the key that the node printed, with --key');
    return 'unknownSigner';
  });
  return worst(verdicts);
}
