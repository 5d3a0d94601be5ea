/**
 * What the entries of each bucket look like. Whoever reaches the NATS server can write anything to a bucket, and a slip of
 * the hand with its CLI is enough: what has another shape is damaged, and nobody looks into it. Fields that are not known
 * here are passed over, and of what another process tells of itself only the types count: it may be of a later version.
 */
import typia, { type tags } from 'typia';
import type { CollectionConfig } from '../calls.js';
import { catalogKey, type StoredCatalogEntry } from '../catalogEntry.js';
import type { StoredKey } from '../keys.js';
import type { Heartbeat, Ownership } from '../owners.js';
import { BUCKETS, type BucketName } from '../platform.js';
import type { StoredSigner } from '../signers.js';
import { markedBy, type StoredShredMark } from '../vault/shredMarks.js';
import type { Whole } from '../whole.js';
import type { Json } from './bucket.js';

type Id = Whole & tags.Minimum<1>;
type Dimension = number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<32768>;

interface Collection extends CollectionConfig {
  readonly id: Id;
  readonly dimension: Dimension;
  readonly createdAtMs: Whole;
}

interface OwnerEntry extends Ownership {
  readonly epoch: Whole;
  readonly collection: Collection;
}

interface HeartbeatEntry extends Omit<Heartbeat, 'damages'> {
  readonly collections: Whole;
  readonly records: Whole;
  readonly damages: readonly {
    readonly collectionId: number | null;
    readonly part: string;
    readonly reason: string;
  }[];
}

/** Earlier versions left out what is optional here. */
interface KeyEntry extends Omit<StoredKey, 'created_at_ms' | 'expires_at_ms' | 'label'> {
  readonly created_at_ms?: number;
  readonly expires_at_ms?: number | null;
  readonly label?: string | null;
}

interface CatalogEntry extends StoredCatalogEntry {
  readonly id: Id;
  readonly dimension: Dimension;
  readonly created_at_ms: Whole;
}

const isCatalogEntry = typia.createIs<CatalogEntry>();
const isOwnerEntry = typia.createIs<OwnerEntry>();
const isHeartbeat = typia.createIs<HeartbeatEntry>();
const isStoredKey = typia.createIs<KeyEntry>();
const isReserved = typia.createIs<Readonly<Record<string, Whole>>>();
const isLease = typia.createIs<{ readonly holder: string }>();
const isReached = typia.createIs<{ readonly sequence: Id; readonly chain_head: string }>();
const isSigner = typia.createIs<StoredSigner>();
const isShredMark = typia.createIs<StoredShredMark>();

const SHAPES: Partial<Record<BucketName, (key: string, value: Json) => boolean>> = {
  [BUCKETS.catalog]: (key, value) => isCatalogEntry(value) && key === catalogKey(value.project, value.name),
  [BUCKETS.owners]: (key, value) => isOwnerEntry(value) && key === String(value.collection.id),
  [BUCKETS.shards]: (_, value) => isHeartbeat(value),
  [BUCKETS.keys]: (_, value) => isStoredKey(value),
  [BUCKETS.quota]: (_, value) => isReserved(value),
  [BUCKETS.leases]: (_, value) => isLease(value),
  [BUCKETS.reached]: (_, value) => isReached(value),
  [BUCKETS.signers]: (_, value) => isSigner(value),
  [BUCKETS.shreds]: (key, value) => isShredMark(value) && markedBy(key) !== undefined,
};

/** True too of a bucket whose entries have no shape of their own. */
export const isEntryOf = (bucket: string, key: string, value: Json): boolean =>
  SHAPES[bucket as BucketName]?.(key, value) ?? true;
