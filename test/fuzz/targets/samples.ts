import { TIME_MAX_MS } from '../../../shared/limits.js';
import { type Event, type EventHeader, genesisOf } from '../../../shared/log/event.js';
import { type Actor, SYSTEM } from '../../../shared/model/actor.js';
import type { SeededRandom } from '../../support/model/random.js';
import { configOf } from '../../support/rigs/engine.js';

const bytes = (length: number, random: SeededRandom): Uint8Array => Uint8Array.from({ length }, () => random.int(256));

const ACTORS: readonly (Actor | null)[] = [
  null,
  { keyId: '7f3a52c0d1e9b846', onBehalfOf: 'u-17', requestId: 'r-1' },
  SYSTEM,
];

/** One event of each kind, the genesis first; each could follow its predecessor in a log. */
export function everyEvent(random: SeededRandom): Event[] {
  const config = configOf(7);
  let sequence = 1;
  // Version 1 comes first, then runs of some actors.
  const next = (): Pick<Event, EventHeader> => {
    const actor = ACTORS[Math.floor(sequence / 3) % ACTORS.length]!;
    return { sequence, timeMs: config.createdAtMs + 10 * sequence++, actor };
  };
  const vector = (): Uint8Array => bytes(4 * config.dimension, random);
  const bare = { tag: 0, requestId: null, metadata: null, text: null, externalId: null };
  const keyId = bytes(16, random);
  const underKey = () => ({
    ...{ recordId: 4, keyId, nonce: bytes(12, random), commitment: bytes(32, random) },
    ...{ ciphertext: bytes(100, random), content: null },
  });
  return [
    genesisOf(config),
    { type: 'insert', ...next(), recordId: 1, ...bare, vector: vector() },
    {
      type: 'insert',
      ...next(),
      recordId: 2,
      tag: 2 ** 53 - 1,
      requestId: bytes(16, random),
      vector: vector(),
      metadata: Buffer.from('{"kind":"a","n":[1,2]}'),
      text: Buffer.from('größer, 漢字'),
      externalId: Buffer.from('Dokument/2'),
      expiresAtMs: 4_102_444_800_000,
    },
    {
      type: 'replace',
      ...next(),
      recordId: 2,
      ...bare,
      vector: vector(),
      text: Buffer.from('other'),
      externalId: Buffer.from('Dokument/2'),
    },
    { type: 'updateMetadata', ...next(), recordId: 1, metadata: Buffer.from('{"kind":"b"}') },
    {
      type: 'insertEncrypted',
      ...next(),
      recordId: 3,
      tag: 5,
      requestId: null,
      keyId: bytes(16, random),
      nonce: bytes(12, random),
      ciphertext: bytes(40, random),
      expiresAtMs: 4_102_444_801_000,
    },
    { type: 'insertUnderKey', ...next(), ...underKey(), requestId: bytes(16, random), expiresAtMs: 4_102_444_802_000 },
    { type: 'replaceUnderKey', ...next(), ...underKey(), requestId: null },
    { type: 'updateUnderKey', ...next(), ...underKey(), requestId: null },
    { type: 'addNode', ...next(), nodeId: 1, recordId: 2, kind: 5 },
    { type: 'addNode', ...next(), nodeId: 2, recordId: null, kind: 1 },
    { type: 'addEdge', ...next(), edgeId: 1, from: 1, to: 2, kind: 4 },
    { type: 'deleteEdge', ...next(), edgeId: 1 },
    { type: 'deleteNode', ...next(), nodeId: 2 },
    { type: 'softDelete', ...next(), recordId: 1 },
    { type: 'shredKey', ...next(), keyId: bytes(16, random) },
    { type: 'delete', ...next(), recordId: 3 },
    { type: 'deleteMany', ...next(), requestId: bytes(16, random), deleted: 1 },
    // The latest possible time, so that most mutations are later.
    { type: 'delete', ...next(), timeMs: TIME_MAX_MS, recordId: 2 },
  ];
}
