/** Chooses a client's calls about encrypted records and keys. */
import { NO_ONE_COLLECTION } from '../../history/asked.js';
import type { RemoveCall } from '../../history/records.js';
import type { GetSecretCall, InsertSecretCall, KeyStatusCall, ShredCall } from '../../history/secrets.js';
import type { Wanted } from '../calls/call.js';
import type { Known } from '../known.js';
import type { KnownIds } from '../knownIds.js';
import type { Draws } from './draws.js';

/** Keys are few, so that most have records in several collections. */
const KEYS_WANTED = 40;

export function secretWrite(
  draws: Draws,
  collection: string,
  known: Known,
  keys: KnownIds<string>,
): Wanted<InsertSecretCall | RemoveCall | ShredCall> {
  const { random } = draws;
  const chance = random.int(100);
  if (known.secrets.size === 0 || chance < 75)
    return { op: 'insertEncrypted', collection, secret: secret(draws, keys) };
  if (chance < 88) {
    const op = draws.onceIn(2) ? 'softDelete' : 'delete';
    return { op, collection, id: anyOf(known.secrets, draws), since: null };
  }
  const keyId = anyKey(keys, draws);
  return { op: 'shred', collection: NO_ONE_COLLECTION, keyId };
}

export function secretRead(
  draws: Draws,
  collection: string,
  known: Known,
  keys: KnownIds<string>,
): Wanted<GetSecretCall | KeyStatusCall> {
  if (draws.onceIn(5)) return { op: 'keyStatus', collection: NO_ONE_COLLECTION, keyId: anyKey(keys, draws) };
  return { op: 'getEncrypted', collection, id: anyOf(known.secrets, draws) };
}

function secret(draws: Draws, keys: KnownIds<string>) {
  if (draws.onceIn(8)) return draws.secret(null);
  return draws.secret(draws.random.int(KEYS_WANTED) < keys.size ? anyKey(keys, draws) : draws.keyId());
}

const anyKey = (keys: KnownIds<string>, draws: Draws): string => keys.pick(draws.random, () => draws.keyId());
const anyOf = (ids: KnownIds<number>, { random }: Draws): number =>
  ids.pick(random, () => 1 + random.int(ids.size + 10));
