/**
 * The life of each key, over all collections and coordinators: once anybody has been told that it is shredded, nobody is
 * shown what was under it, or finds it alive; and nobody is told so before somebody asked for it.
 */

import type { GetSecretCall, InsertSecretCall } from '../history/secrets.js';
import type { Call, KeyCall } from '../history.js';
import type { CollectionLog } from './log.js';
import type { Violations } from './violations.js';

type SecretCall = KeyCall | GetSecretCall | InsertSecretCall;

/** What was told of one key. */
interface Told {
  /** That it is shredded, or to shred it. */
  readonly shredded: SecretCall[];
  /** That it is not. */
  readonly alive: SecretCall[];
  readonly shreds: SecretCall[];
}

export function checkSecrets(calls: readonly Call[], logs: readonly CollectionLog[], violations: Violations): void {
  const keys = keysIn(calls, keyOfRecords(logs));
  for (const [keyId, { shredded, alive, shreds }] of keys) {
    const askedMs = Math.min(...shreds.map(({ startMs }) => startMs));
    const sooner = shredded.find(({ endMs }) => endMs < askedMs);
    if (sooner !== undefined) violations.add('wrong answer', sooner.collection, 'nobody had shredded the key', sooner);
    const first = earliest(shredded);
    if (first === undefined) continue;
    for (const call of alive)
      if (call.startMs > first.endMs)
        violations.add('shredded key alive', call.collection, `${keyId} was known to be shredded`, call, first);
    const answered = shreds.find(({ outcome }) => outcome.kind === 'ok');
    if (answered !== undefined) checkCommitted(keyId, answered, logs, violations);
  }
}

/** A shred is answered when every log that has records under the key has it too. */
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
  const keys = new Map<string, Told>();
  const of = (keyId: string): Told => {
    const known = keys.get(keyId) ?? { shredded: [], alive: [], shreds: [] };
    keys.set(keyId, known);
    return known;
  };
  const note = (keyId: string | null | undefined, call: SecretCall): void => {
    const isShredded = saysShredded(call);
    if (keyId && isShredded !== undefined) of(keyId)[isShredded ? 'shredded' : 'alive'].push(call);
  };
  /** Of what was sent several times: a repeat is answered as the first one was, whatever became of the key. */
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

/** Undefined: it says nothing about that. */
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
