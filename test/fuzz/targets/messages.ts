/**
 * Messages to a shard, possible for any client of the NATS server. A message without calls is refused. Whatever is
 * accepted, the collection stays whole, and its log replays to its state.
 */

import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { systemClock } from '../../../shared/clock.js';
import { VouchError } from '../../../shared/errors/errors.js';
import type { Call, ShardCall } from '../../../shared/protocol/calls.js';
import { packCalls, unpackOutcomes } from '../../../shared/protocol/wire.js';
import { ownershipOf } from '../../../shared/registry/owners.js';
import { collectionSubject, shardSubject } from '../../../shared/transport/subjects.js';
import { packedBody } from '../../../shared/transport/transport.js';
import { batchOf, fixed, insertOf, requestIdOf } from '../../support/rigs/engine.js';
import { FuzzedService } from '../service.js';
import type { FuzzTarget } from '../target.js';

const DEADLINE_MS = 20_000;

const CALLS: readonly (readonly [verb: 'read' | 'write' | 'control', call: Call])[] = [
  ['read', { op: 'get', id: 1 }],
  ['read', { op: 'describe' }],
  ['read', { op: 'search', query: fixed(1, 2), k: 3 }],
  [
    'read',
    {
      op: 'search',
      query: fixed(1, 2),
      k: 3,
      decay: { halfLifeSecs: 5, nowMs: 2e12 },
      text: { query: 'a', hybrid: true },
    },
  ],
  [
    'read',
    {
      op: 'search',
      query: fixed(1, 2),
      k: 3,
      filter: { op: 'and', of: [{ op: 'test', path: ['a'], test: { kind: 'gt', value: 3 } }] },
    },
  ],
  [
    'read',
    { op: 'search', k: 3, text: { query: 'a b', hybrid: false, alone: true }, fields: ['text'], maxBytes: 1_000 },
  ],
  [
    'read',
    { op: 'search', query: fixed(1, 2), k: 3, diversity: 0.5, text: { query: 'a', hybrid: true, terms: ['a'] } },
  ],
  [
    'read',
    {
      op: 'listRecords',
      after: 0,
      limit: 5,
      maxBytes: 1_000,
      fields: ['metadata', 'log_index'],
      order: { path: 'a', isDescending: true },
      filter: { op: 'text', test: { kind: 'words', mode: 'phrase', value: 'a b' } },
    },
  ],
  ['read', { op: 'graphQuery', start: 1, direction: 'both', edgeKind: null, nodeKind: 1, depth: 2, limit: 10 }],
  ['read', { op: 'proofInclusion', sequence: 1, size: null }],
  ['read', { op: 'proofConsistency', from: 0, to: 1 }],
  ['read', { op: 'timeline', fromMs: 0, toMs: 4e12, after: 0, limit: 5 }],
  ['read', { op: 'keysOf', filter: { op: 'and', of: [] }, keysMax: 9 }],
  ['read', { op: 'countUnderKeys', keyIds: ['ab'.repeat(16)] }],
  ['read', { op: 'erasures', keyIds: ['ab'.repeat(16)], size: 2 }],
  ['read', { op: 'erasureProofs', size: 2, sequences: [1], recordIds: [1] }],
  ['read', { op: 'readLog', from: 0, maxBytes: 1000 }],
  ['read', { op: 'search', query: fixed(1, 2), k: 5_000, asOf: { logIndex: 1 }, tellSequence: true }],
  ['read', { op: 'getEncrypted', id: 3 }],
  ['read', { op: 'proofReceipt', sequence: 1 }],
  ['write', insertOf(fixed(3, 4), { metadata: Buffer.from('{"a":5}'), text: 'a b', requestId: requestIdOf(1) })],
  ['write', batchOf([fixed(1, 2), fixed(3, 4)], [requestIdOf(2), null])],
  ['write', { op: 'insertEncrypted', payload: Buffer.from('a'), keyId: 'ab'.repeat(16), tag: 1, requestId: null }],
  ['write', { op: 'shredKey', keyId: 'ab'.repeat(16) }],
  [
    'write',
    {
      ...batchOf([fixed(1, 2), fixed(3, 4)], [null, null]),
      tags: [1, 2],
      externalIds: ['a', 'ü'],
      expiresAtMs: [null, 2e12],
    },
  ],
  ['write', { op: 'deleteMany', of: { ids: [1, 2] }, requestId: requestIdOf(3) }],
  ['write', { op: 'deleteMany', of: { externalIds: ['a', 'b'] } }],
  ['write', { op: 'deleteMany', of: { filter: { op: 'and', of: [] } } }],
  ['write', { op: 'patchMany', of: { ids: [1, 2] }, patch: Buffer.from('{"a":null}'), since: 1 }],
  ['write', { op: 'patchMetadata', id: 'a', patch: Buffer.from('{"b":{"c":1}}'), since: 2 }],
  ['write', { op: 'auditReads', audit: 'on', retentionDays: 7 }],
  ['write', { op: 'softDelete', id: 1 }],
  ['write', { op: 'delete', id: 1 }],
  ['write', { op: 'deleteNode', id: 1 }],
  ['write', { op: 'deleteEdge', id: 1 }],
  ['write', { op: 'updateMetadata', id: 2, metadata: Buffer.from('{"a":7}') }],
  ['write', { op: 'addNode', kind: 1, recordId: null }],
  ['write', { op: 'addEdge', from: 1, to: 1, kind: 2 }],
  ['write', { op: 'shredKey', keyId: 'cd'.repeat(16) }],
  ['control', { op: 'configureIndex', spec: { kind: 'brute', parameters: {} } }],
  ['control', { op: 'configureIndex', spec: { kind: 'hnsw', parameters: { m: 4, efConstruction: 10, nList: 2 } } }],
  ['control', { op: 'rebuild', kind: 'ivf' }],
  ['control', { op: 'importFrames', frames: [Buffer.from('VFR1')], upTo: 1 }],
  ['control', { op: 'logAccess', entries: ['{"actor":{"key_id":"k"},"kind":"search"}'] }],
  ['control', { op: 'trimAccess', covered: { size: 1, chainHead: 'ab'.repeat(32), root: 'cd'.repeat(32) } }],
  ['control', { op: 'release', token: 'nobody' }],
]; // prettier-ignore

const VERBS = ['read', 'write', 'control'] as const;

/** The verb as the first byte, then the message. */
const sampleOf = ([verb, call]: (typeof CALLS)[number]): Uint8Array =>
  Buffer.concat([
    Uint8Array.of(VERBS.indexOf(verb)),
    packedBody(packCalls([{ requestId: 'fuzz', deadlineMs: 4e12, call }])),
  ]);

/** Calls to a shard by its name. */
const namedCalls = (id: number): readonly ShardCall[] => [
  { op: 'trim', project: 'p' },
  { op: 'count', collectionIds: [id, id] },
  { op: 'heldBytes', collectionIds: [id, id] },
  { op: 'heads', collectionIds: [id] },
  { op: 'readIndex', collectionIds: [id] },
  { op: 'openIds' },
  { op: 'warm', collectionId: id },
  { op: 'adopt', collectionIds: [id] },
  { op: 'stateHashAt', collectionId: id, sequence: 1 },
];

const namedSampleOf = (call: ShardCall): Uint8Array =>
  Buffer.concat([Uint8Array.of(VERBS.length), packedBody(packCalls([{ requestId: 'fuzz', deadlineMs: 4e12, call }]))]);

/** Nested arrays, as many as would overflow a stack. */
const DEEP = new Uint8Array(50_000).fill(0x91);

export const messages: FuzzTarget = {
  name: 'messages',
  open: async () => {
    const service = await FuzzedService.start();
    const client = await service.client('p');
    const { body } = await client.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    for (const values of [
      [1, 2],
      [3, 4],
    ])
      await client.post('/v1/records', { collection: 'c', values }); // prettier-ignore
    const owners = await service.platform.bucket(BUCKETS.owners);
    const { epoch, shard } = ownershipOf((await owners.get(String(body.id)))!);
    const subjects = [...VERBS.map((verb) => collectionSubject(body.id, epoch, verb)), shardSubject(shard)];
    return {
      samples: [...CALLS.map(sampleOf), ...namedCalls(body.id).map(namedSampleOf), DEEP],
      tryOne: async (input) => {
        if (input.length === 0) return 'refused';
        const subject = subjects[input[0]! % subjects.length]!;
        const message = isHarmful(input) ? input.subarray(0, 1) : input.subarray(1);
        const envelope = { requestId: 'fuzz', deadlineMs: systemClock.nowMs() + DEADLINE_MS };
        try {
          const outcomes = unpackOutcomes(await service.platform.transport.request(subject, message, envelope));
          return outcomes.every((outcome) => 'ok' in outcome) ? 'taken' : 'refused';
        } catch (error) {
          if (error instanceof VouchError) return 'refused';
          throw error;
        }
      },
      close: async () => {
        const inserted = await client.post('/v1/records', { collection: 'c', values: [5, 6] });
        const proof = await client.get('/v1/proof/state?collection=c');
        await service.stop();
        if (inserted.status !== 200) throw new Error(`the collection no longer accepts writes: ${inserted.text}`);
        if (proof.body.final_state_hash !== inserted.body.receipt.state_hash)
          throw new Error('the state differs from the receipt');
      },
    };
  },
};

/** Calls that do what they say, and would end the shard's service: their senders have that right. */
const isHarmful = (input: Uint8Array): boolean =>
  ['yield', 'silence', 'drop', 'hold'].some((op) => Buffer.from(input).includes(op));
