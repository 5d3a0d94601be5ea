/** Made from coordinator/contract/service.ts by `npm run docs`. */

export interface CreateKeyRequest {
  scope: ('read_only' | 'read_write' | 'admin' | 'metrics');
  label?: string | null;
  /** Omitted: the key does not expire. */
  expiresInSecs?: number | null;
}

export interface ListedKey {
  id: string;
  project: string;
  scope: ('read_only' | 'read_write' | 'admin' | 'metrics');
  createdAtMs: number;
  expiresAtMs: number | null;
  /** An expired key stays expired, also if clocks are set back. */
  expired: boolean;
  label: string | null;
}

export interface CreateKeyResponse extends ListedKey {
  /** The key itself, which no other answer shows. */
  key: string;
}

/** The rights of the key of a request. */
export interface OwnKeyResponse {
  id: string;
  project: string;
  scope: ('read_only' | 'read_write' | 'admin' | 'metrics');
}

export interface ListKeysResponse {
  keys: ListedKey[];
}

export interface HealthResponse {
  status: 'ok' | 'degraded';
  mode: 'cluster' | 'standalone';
  version: string;
  shardCount: number;
  collections: number;
  records: number;
  /** Present if `status` is `degraded`. */
  reason?: string;
  /** Damaged parts; everything else is served. Present if there are any. */
  damaged?: DamagedCollection[];
}

/** A damaged part of a collection. */
export interface Damage {
  /**
   * `log` or `vault`: requests to the collection answer 500. `snapshot` or `index`: the file is set aside, and the collection
   * is served from its log. `follower`: this copy answers nothing, and the owner serves.
   */
  part: 'log' | 'vault' | 'opening' | 'snapshot' | 'index' | 'follower';
  /** Describes the bytes, without the project, the collection's name or its content. */
  reason: string;
}

export interface DamagedCollection extends Damage {
  /** Null: the master key or its vault entry. Encrypted records cannot be written or read; everything else is served. */
  collectionId: number | null;
}

export interface UsageResponse {
  records: number;
  collections: number;
  storage: {
    eventLogBytes: number;
    snapshotBytes: number;
    totalBytes: number;
  };
  /**
   * What the quota of bytes counts. A soft-deleted record holds its bytes until it is deleted; those of the log go with the
   * collection.
   */
  bytes: {
    vectors: number;
    metadata: number;
    texts: number;
    /** Encrypted payloads that are neither deleted nor shredded. */
    payloads: number;
    log: number;
    /** The sum of the kinds. */
    total: number;
    limit: number;
  };
}

export interface ErrorResponse {
  error: string;
  code: string;
}

export interface RateLimitedResponse {
  error: string;
}
