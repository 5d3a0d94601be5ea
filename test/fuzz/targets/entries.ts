/** Entries of the cluster's buckets: a reader can use every accepted entry, whatever its content. */
import type { BucketValue, Entry } from '../../../shared/bucket/bucket.js';
import { BUCKETS } from '../../../shared/bucket/buckets.js';
import { aliasOf } from '../../../shared/registry/aliasEntry.js';
import { catalogEntryOf } from '../../../shared/registry/catalogEntry.js';
import { isEntryOf } from '../../../shared/registry/entryShapes.js';
import { keyRecord } from '../../../shared/registry/keys.js';
import { heartbeatOf, ownershipOf } from '../../../shared/registry/owners.js';
import { BUCKET_ENTRIES } from '../../support/nats/bucketEntries.js';
import type { FuzzTarget } from '../target.js';

/** Whether a reader can use the entry; throws like a reader. */
function isReadable(bucket: string, entry: Entry): boolean {
  switch (bucket) {
    case BUCKETS.catalog:
      return Number.isSafeInteger(aliasOf(entry)?.collectionId ?? catalogEntryOf(entry).config.id);
    case BUCKETS.owners:
      return ownershipOf(entry).followers.every((shard) => typeof shard === 'string');
    case BUCKETS.shards:
      return heartbeatOf(entry).damages.every(({ reason }) => typeof reason === 'string');
    case BUCKETS.keys:
      return keyRecord(entry) !== undefined;
    default:
      return true;
  }
}

export const entries: FuzzTarget = {
  name: 'entries',
  open: async () => ({
    samples: BUCKET_ENTRIES.map(([, , value]) => Buffer.from(JSON.stringify(value))),
    tryOne: (input) => {
      let value: BucketValue;
      try {
        value = JSON.parse(Buffer.from(input).toString()) as BucketValue;
      } catch {
        return 'refused';
      }
      const taken = BUCKET_ENTRIES.filter(([bucket, key]) => isEntryOf(bucket, key, value));
      for (const [bucket, key] of taken)
        if (!isReadable(bucket, { key, value, revision: 1 })) throw new Error(`${bucket} accepts an unreadable entry`);
      return taken.length > 0 ? 'taken' : 'refused';
    },
    close: async () => undefined,
  }),
};
