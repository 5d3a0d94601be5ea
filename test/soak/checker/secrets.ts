/**
 * Checks the life of each key over all collections and coordinators. Once any client has learned that a key is
 * shredded, no client reads data under it, or finds the key alive. No client learns it before a shred was requested.
 */

import type { GetSecretCall, InsertSecretCall } from '../history/secrets.js';
import type { Call, KeyCall } from '../history.js';
import type { CollectionLog } from './log.js';
import type { Violations } from './violations.js';

type SecretCall = KeyCall | GetSecretCall | InsertSecretCall;

/** Answers about one key. */
interface Answers {
  /** The key is shredded, or has just been. */
  readonly shredded: SecretCall[];
  /** The key is alive. */
  readonly alive: SecretCall[];
  readonly shreds: SecretCall[];
}

export function checkSecrets(calls: readonly Call[], logs: readonly CollectionLog[], violations: Violations): void {
  const keys = keysIn(calls, keyOfRecords(logs));
  for (const [keyId, { shredded, alive, shreds }] of keys) {
    const askedMs = Math.min(...shreds.map(({ startMs }) => startMs));
    const sooner = shredded.find(({ endMs }) => endMs < askedMs);
    if (sooner !== undefined) violations.add('wrong answer', sooner.collection, 'no call had shredded the key', sooner);
    const first = earliest(shredded);
    if (first === undefined) continue;
    for (const call of alive)
      if (call.startMs > first.endMs)
        violations.add('shredded key alive', call.collection, `${keyId} was known to be shredded`, call, first);
    const answered = shreds.find(({ outcome }) => outcome.kind === 'ok');
    if (answered !== undefined) checkCommitted(keyId, answered, logs, violations);
  }
}

/** A shred is answered once every log with records under the key has it. */
function checkCommitted(
  keyId: string,
  shred: SecretCall,
  logs: readonly CollectionLog[],
  violations: Violations,
): void {
  for (const { collection, entries } of logs) {
    const ofKey = entries.map(({ event }) => event).filter((event) => 'keyId' in event && event.keyId === keyId);
    if (ofKey.length > 0 && ofKey.every(({ type }) => type !== 'shredKey'))
      violations.add('lost write', collection, `the shred of ${keyId} is not in the log`, shred);
  }
}

function keysIn(calls: readonly Call[], keyOf: (collection: string, id: number) => string | undefined) {
  const keys = new Map<string, Answers>();
  const of = (keyId: string): Answers => {
    const known = keys.get(keyId) ?? { shredded: [], alive: [], shreds: [] };
    keys.set(keyId, known);
    return known;
  };
  const note = (keyId: string | null | undefined, call: SecretCall): void => {
    const isShredded = saysShredded(call);
    if (keyId && isShredded !== undefined) of(keyId)[isShredded ? 'shredded' : 'alive'].push(call);
  };
  /** First call per mark: a repeat is answered like the first, even if the key has been shredded since. */
  const firstSent = new Map<number, InsertSecretCall>();
  for (const call of calls) {
    switch (call.op) {
      case 'shred':
        of(call.keyId).shreds.push(call);
        note(call.keyId, call);
        break;
      case 'keyStatus':
        note(call.keyId, call);
        break;
      case 'insertEncrypted': {
        const { mark, keyId } = call.secret;
        const first = firstSent.get(mark) ?? call;
        firstSent.set(mark, first);
        if (call.outcome.kind === 'ok') note(keyId, { ...first, outcome: call.outcome });
        else note(keyId, call);
        break;
      }
      case 'getEncrypted':
        note(keyOf(call.collection, call.id), call);
    }
  }
  return keys;
}

/** Undefined: the answer does not say. */
function saysShredded(call: SecretCall): boolean | undefined {
  const { outcome } = call;
  if (outcome.kind === 'shredded') return true;
  if (outcome.kind !== 'ok') return undefined;
  switch (call.op) {
    case 'shred':
      return true;
    case 'keyStatus': {
      const status = call.outcome.kind === 'ok' ? call.outcome.answer.status : 'unknown';
      return status === 'unknown' ? undefined : status === 'shredded';
    }
    case 'getEncrypted':
      return false;
    case 'insertEncrypted':
      return false;
  }
}

const earliest = (calls: readonly SecretCall[]): SecretCall | undefined =>
  calls.reduce<SecretCall | undefined>((a, b) => (a === undefined || b.endMs < a.endMs ? b : a), undefined);

function keyOfRecords(logs: readonly CollectionLog[]): (collection: string, id: number) => string | undefined {
  const keys = new Map<string, string>();
  for (const { collection, entries } of logs)
    for (const { event } of entries)
      if (event.type === 'insertEncrypted') keys.set(`${collection} ${event.recordId}`, event.keyId);
  return (collection, id) => keys.get(`${collection} ${id}`);
}
