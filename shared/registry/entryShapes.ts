/**
 * The shapes of the entries of each bucket. Any program with access to the NATS server can write to a bucket; an entry of another
 * shape is damaged. Unknown fields are allowed, since the writer may have a later version. So values that describe the writer
 * are checked by type only.
 */
import typia, { type tags } from 'typia';
import type { BucketValue } from '../bucket/bucket.js';
import { BUCKETS, type BucketName } from '../bucket/buckets.js';
import type { CollectionConfig } from '../model/collectionConfig.js';
import type { HELD_KINDS } from '../model/quotas.js';
import type { UnixMs, Whole, WholeBetween } from '../model/whole.js';
import { notedBy, type StoredShredNote } from '../vault/shredNotes.js';
import type { StoredAlias } from './aliasEntry.js';
import { catalogKey, type StoredCatalogEntry } from './catalogEntry.js';
import { keyRecord, type StoredKey } from './keys.js';
import { areFailures, isDue, isOpenings } from './openings.js';
import type { Heartbeat, Ownership } from './owners.js';
import type { StoredCheckpoint, StoredIdentity } from './serviceLog.js';
import { isSignersKey, type StoredSigner } from './signers.js';

type Id = Whole & tags.Minimum<1>;
type Dimension = number & WholeBetween<1, 32768>;

interface Collection extends CollectionConfig {
  readonly id: Id;
  readonly dimension: Dimension;
  readonly createdAtMs: Whole;
}

interface OwnerEntry extends Ownership {
  readonly epoch: Whole;
  readonly collection: Collection;
}

interface HeartbeatEntry extends Omit<Heartbeat, 'damages' | 'full'> {
  readonly collections: Whole;
  readonly records: Whole;
  readonly full?: readonly string[];
  readonly damages: readonly {
    readonly collectionId: number | null;
    readonly part: string;
    readonly reason: string;
  }[];
}

/** A key's entry; earlier versions wrote it without the optional fields. */
interface KeyEntry extends Omit<StoredKey, 'created_at_ms' | 'expires_at_ms' | 'expired_at_ms' | 'label'> {
  readonly created_at_ms?: UnixMs;
  readonly expires_at_ms?: UnixMs | null;
  readonly expired_at_ms?: UnixMs;
  readonly label?: string | null;
}

interface CatalogEntry extends StoredCatalogEntry {
  readonly id: Id;
  readonly dimension: Dimension;
  readonly created_at_ms: Whole;
}

interface AliasEntry extends StoredAlias {
  readonly collection_id: Id;
}

interface WatermarkEntry {
  readonly sequence: Id;
  readonly chain_head: string;
  readonly held_bytes?: Readonly<Record<(typeof HELD_KINDS)[number], Whole>>;
}

const isCatalogEntry = typia.createIs<CatalogEntry>();
const isAliasEntry = typia.createIs<AliasEntry>();
const isOwnerEntry = typia.createIs<OwnerEntry>();
const isHeartbeat = typia.createIs<HeartbeatEntry>();
const isStoredKey = typia.createIs<KeyEntry>();
const isReserved = typia.createIs<Readonly<Record<string, Whole>>>();
const isLease = typia.createIs<{ readonly holder: string }>();
const isReached = typia.createIs<WatermarkEntry>();
const isSigner = typia.createIs<StoredSigner>();
const isLogIdentity = typia.createIs<StoredIdentity>();
const isLogCheckpoint = typia.createIs<StoredCheckpoint>();
const isShredNote = typia.createIs<StoredShredNote>();

const SHAPES: Partial<Record<BucketName, (key: string, value: BucketValue) => boolean>> = {
  [BUCKETS.catalog]: (key, value) =>
    isAliasEntry(value)
      ? key === catalogKey(value.project, value.alias)
      : isCatalogEntry(value) && key === catalogKey(value.project, value.name),
  [BUCKETS.owners]: (key, value) => isOwnerEntry(value) && key === String(value.collection.id),
  [BUCKETS.shards]: (_, value) => isHeartbeat(value),
  [BUCKETS.keys]: (key, value) => isStoredKey(value) && keyRecord({ key, value, revision: 0 }) !== undefined,
  [BUCKETS.quota]: (_, value) => isReserved(value),
  [BUCKETS.leases]: (_, value) => isLease(value),
  [BUCKETS.watermarks]: (_, value) => isReached(value),
  [BUCKETS.openings]: (key, value) =>
    key.startsWith('by.') ? isOpenings(value) : key.startsWith('due.') ? isDue(value) : areFailures(value),
  [BUCKETS.signers]: (key, value) => isSigner(value) && isSignersKey(key),
  [BUCKETS.serviceLog]: (key, value) => (key === 'identity' ? isLogIdentity(value) : isLogCheckpoint(value)),
  [BUCKETS.ids]: (_, value) => Number.isSafeInteger(value),
  [BUCKETS.shreds]: (key, value) => isShredNote(value) && notedBy(key) !== undefined,
};

/** Whether the value has the shape of the bucket's entries, if they have one. */
export const isEntryOf = (bucket: string, key: string, value: BucketValue): boolean =>
  SHAPES[bucket as BucketName]?.(key, value) ?? true;
