import type { BucketValue } from '../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { PROTOCOL_VERSION } from '../../../shared/protocol/version.js';
import { storedAlias } from '../../../shared/registry/aliasEntry.js';
import { storedEntry } from '../../../shared/registry/catalogEntry.js';
import { storedHeartbeat, storedOwnership } from '../../../shared/registry/owners.js';
import { configOf } from '../rigs/engine.js';

const config = { ...configOf(7), normalise: true } as const;
export const HEARTBEAT = {
  session: 'a',
  collections: 1,
  records: 2,
  damages: [],
  leaving: false,
  protocol: PROTOCOL_VERSION,
};
export const OWNER = storedOwnership({ shard: 's1', epoch: 3, collection: config, followers: ['s2'] });

/** One entry of each bucket, in its stored form. */
export const BUCKET_ENTRIES: readonly (readonly [bucket: string, key: string, value: BucketValue])[] = [
  [BUCKETS.owners, '7', OWNER],
  [BUCKETS.shards, 's1', storedHeartbeat(HEARTBEAT)],
  [
    BUCKETS.catalog,
    `${config.project}.${config.name}`,
    storedEntry({
      config,
      spec: { kind: 'hnsw', parameters: { m: 8 } },
      imported: { sequence: 1, chainHead: 'a', stateHash: 'b', finished: true },
      ttlSecs: 60,
    }),
  ],
  [BUCKETS.catalog, 'p.alias', storedAlias({ project: 'p', name: 'alias', collectionId: 7, collection: 'c' })],
  [BUCKETS.keys, 'ab', { id: '1', project: 'p', scope: 'admin', created_at_ms: 1, expires_at_ms: null, label: 'x' }],
  [BUCKETS.quota, 'p', { '7': 64 }],
  [BUCKETS.leases, 'placement', { holder: 'coordinator 5' }],
  [BUCKETS.openings, 'by.s1', { session: 'a', openings: { '7': 1 }, alone: 7 }],
  [BUCKETS.openings, 'of.7', { failures: [{ opening: 'a.1', shard: 's1', how: 'ended', alone: true, at_ms: 1 }] }],
  [BUCKETS.openings, 'due.7', { next_expiry_ms: 1 }],
  [BUCKETS.watermarks, '7', { sequence: 1, chain_head: 'a' }],
  [
    BUCKETS.signers,
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    { shards: ['s1'], since_ms: 1 },
  ],
  [BUCKETS.serviceLog, 'identity', { origin: 'vouch.example/log', public_key: 'ab' }],
  [BUCKETS.serviceLog, 'newest', { size: 1, note: 'x' }],
  [BUCKETS.shreds, `p.${'a'.repeat(32)}`, { since_ms: 1 }],
];
