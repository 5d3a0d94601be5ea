/** A collection's checkpoint with the proof that it is in the service log. */
import { type Checkpoint, verifyCheckpoint } from '../checkpoint.js';
import { base64urlOf, objectOf, textOf, wholeOf } from '../json.js';
import { type AccessLogEntry, type CheckpointEntry, parseEntry } from './entry.js';
import type { Policy, TrustedCheckpoint } from './policy.js';
import { verifyTlogProof } from './tlogProof.js';

export interface LoggedCheckpoint {
  readonly checkpoint: Checkpoint;
  /** The checkpoint of the service log in which it is entry `index`. */
  readonly log: TrustedCheckpoint & { readonly index: number };
}

/**
 * Verifies a collection's checkpoint, and that it is in a service log which the policy accepts. Takes the parsed answer of the
 * service, with `service_log` (`entry`, base64url; `proof`, a tlog-proof). See `verifyCheckpoint` for `knownKey`. Throws an Error
 * that names the failed step.
 */
export function verifyLogged(json: unknown, policy: Policy, knownKey?: string): LoggedCheckpoint {
  const checkpoint = verifyCheckpoint(json, knownKey);
  const object = objectOf(json, 'the checkpoint');
  if (!('service_log' in object)) throw new Error('it says nothing of the service log: ask for it with logged=true');
  const logged = objectOf(object.service_log, 'service_log');
  const bytes = base64urlOf(logged, 'entry');
  const entry = parseEntry(bytes);
  if (entry.type !== 'checkpoint') throw new Error('the entry of the service log is not a checkpoint');
  const other = differenceOf(entry, checkpoint, textOf(object, 'signature'));
  if (other !== undefined)
    throw new Error(`the entry of the service log is of another checkpoint: its ${other} differs`);
  return { checkpoint, log: verifyTlogProof(textOf(logged, 'proof'), bytes, policy) };
}

/**
 * Verifies that the state of an access log is in a service log which the policy accepts. Takes the parsed answer of
 * `GET /v1/access/checkpoint`. Throws an Error that names the failed step.
 */
export function verifyLoggedAccess(
  json: unknown,
  policy: Policy,
): { readonly entry: AccessLogEntry; readonly log: LoggedCheckpoint['log'] } {
  const object = objectOf(json, 'the checkpoint');
  if (!('service_log' in object))
    throw new Error('it says nothing of the service log: GET /v1/access/checkpoint answers one that does');
  const logged = objectOf(object.service_log, 'service_log');
  const bytes = base64urlOf(logged, 'entry');
  const entry = parseEntry(bytes);
  if (entry.type !== 'access log') throw new Error('the entry of the service log is not about an access log');
  const isSame =
    BigInt(entry.size) === wholeOf(object, 'size') &&
    entry.chainHead === textOf(object, 'chain_head') &&
    entry.root === textOf(object, 'root');
  if (!isSame) throw new Error('the entry of the service log is of another state of an access log');
  return { entry, log: verifyTlogProof(textOf(logged, 'proof'), bytes, policy) };
}

function differenceOf(entry: CheckpointEntry, checkpoint: Checkpoint, signature: string): string | undefined {
  const { origin, size, root, chainHead, stateHash, timeMs, publicKey } = checkpoint;
  const pairs: readonly (readonly [string, string | bigint, string | bigint])[] = [
    ['collection', BigInt(entry.collectionId), origin.id],
    ['config hash', entry.configHash, origin.configHash],
    ['size', BigInt(entry.size), size],
    ['root', entry.root, root],
    ['chain head', entry.chainHead, chainHead],
    ['state hash', entry.stateHash, stateHash],
    ['time', BigInt(entry.timeMs), timeMs],
    ['public key', entry.publicKey, publicKey],
    ['signature', entry.signature, signature],
  ];
  return pairs.find(([, logged, signed]) => logged !== signed)?.[0];
}
