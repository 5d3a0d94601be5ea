/** Requests and answers of keys, health and usage, and the shape of errors. */

import typia, { type tags } from 'typia';
import type { WholeBetween } from '../../shared/model/whole.js';
import type { KEY_COLLECTIONS_MAX } from '../../shared/registry/keyCollections.js';
import type { KEY_LABEL_MAX, KEY_VALID_SECS_MAX, Scope } from '../../shared/registry/keys.js';
import { refuseBody } from './refusal.js';
import type { Whole } from './values.js';

type KeyCollection = string & tags.Pattern<'^(?:[A-Za-z0-9_-]{1,64}|[A-Za-z0-9_-]{0,63}[*])$'>;

type KeyLabel = string & tags.MaxLength<typeof KEY_LABEL_MAX>;

export interface CreateKeyRequest {
  scope: Scope;
  label?: KeyLabel | null;
  /** The only collections that the key may use: names, or prefixes that end with `*`. Omitted: all of the project. */
  collections?: (KeyCollection[] & tags.MinItems<1> & tags.MaxItems<typeof KEY_COLLECTIONS_MAX>) | null;
  /** Omitted: the key does not expire. */
  expires_in_secs?: (number & WholeBetween<1, typeof KEY_VALID_SECS_MAX>) | null;
}

export interface ListedKey {
  id: string;
  project: string;
  scope: Scope;
  created_at_ms: Whole;
  expires_at_ms: Whole | null;
  /** An expired key stays expired, also if clocks are set back. */
  expired: boolean;
  label: string | null;
  /** Present if the key may use only these collections: names, or prefixes that end with `*`. */
  collections?: string[];
}

export interface CreateKeyResponse extends ListedKey {
  /** The key itself, which no other answer shows. */
  key: string & tags.Pattern<'^vk_[0-9a-f]{64}$'>;
}

/** The rights of the key that a request was sent with. */
export interface OwnKeyResponse {
  id: string;
  project: string;
  scope: Scope;
  /** Present if the key may use only these collections. */
  collections?: string[];
}

export interface ListKeysResponse {
  keys: ListedKey[];
}

export interface HealthResponse {
  status: 'ok' | 'degraded';
  mode: 'cluster' | 'standalone';
  version: string;
  shard_count: Whole;
  collections: Whole;
  records: Whole;
  /** Present if `status` is `degraded`. */
  reason?: string;
  /** Damaged parts; everything else is served. Present if there are any. */
  damaged?: DamagedCollection[];
}

/** A damaged part of a collection. */
export interface Damage {
  /**
   * A damaged `log` or `vault`, or an `opening` that has stopped shards: requests to the collection answer 500. A `snapshot` or
   * `index` is set aside, and the collection is served from its log. A `follower` does not answer; the owner serves.
   */
  part: 'log' | 'vault' | 'opening' | 'snapshot' | 'index' | 'follower';
  /** Describes the bytes, without the project, the collection's name or its content. */
  reason: string;
}

export interface DamagedCollection extends Damage {
  /** Null: the master key or its vault entry. Encrypted records cannot be written or read; everything else is served. */
  collection_id: Whole | null;
}

export interface UsageResponse {
  records: Whole;
  collections: Whole;
  storage: { event_log_bytes: Whole; snapshot_bytes: Whole; total_bytes: Whole };
  /**
   * The bytes that the quota counts. A soft-deleted record counts until it is deleted; the log counts until its collection is
   * deleted.
   */
  bytes: {
    vectors: Whole;
    metadata: Whole;
    texts: Whole;
    /** Encrypted payloads that are neither deleted nor shredded. */
    payloads: Whole;
    log: Whole;
    /** The sum of the kinds. */
    total: Whole;
    limit: Whole;
  };
}

export interface ErrorResponse {
  error: string;
  code: string;
}

export interface RateLimitedResponse {
  error: string;
}

export const assertCreateKey = typia.createAssert<CreateKeyRequest>(refuseBody);
export const isKeyLabel = typia.createIs<KeyLabel>();
