import type { Json } from '../../shared/bucket/bucket.js';
import { storedEntry } from '../../shared/catalogEntry.js';
import { storedHeartbeat, storedOwnership } from '../../shared/owners.js';
import { BUCKETS } from '../../shared/platform.js';
import { configOf } from './engine.js';

const config = configOf(7);
export const HEARTBEAT = { session: 'a', collections: 1, records: 2, damages: [], leaving: false };
export const OWNER = storedOwnership({ shard: 's1', epoch: 3, collection: config, followers: ['s2'] });

/** One entry of each bucket, as it is written. */
export const BUCKET_ENTRIES: readonly (readonly [bucket: string, key: string, value: Json])[] = [
  [BUCKETS.owners, '7', OWNER],
  [BUCKETS.shards, 's1', storedHeartbeat(HEARTBEAT)],
  [
    BUCKETS.catalog,
    `${config.project}.${config.name}`,
    storedEntry({
      config,
      spec: { kind: 'hnsw', parameters: { m: 8 } },
      imported: { sequence: 1, chainHead: 'a', stateHash: 'b', finished: true },
    }),
  ],
  [BUCKETS.keys, 'ab', { id: '1', project: 'p', scope: 'admin', created_at_ms: 1, expires_at_ms: null, label: 'x' }],
  [BUCKETS.quota, 'p', { '7': 64 }],
  [BUCKETS.leases, 'placement', { holder: 'coordinator 5' }],
  [BUCKETS.reached, '7', { sequence: 1, chain_head: 'a' }],
  [BUCKETS.signers, 'ab', { shards: ['s1'], since_ms: 1 }],
  [BUCKETS.shreds, `p.${'a'.repeat(32)}`, { since_ms: 1 }],
];
