/** Keys, health, usage, and the shape of every error. */
import typia, { type tags } from 'typia';
import type { Scope } from '../../shared/keys.js';
import { refuseBody } from './refusal.js';

export interface CreateKeyRequest {
  scope: Scope;
  label?: (string & tags.MaxLength<100>) | null;
  /** Omitted: the key does not expire. */
  expires_in_secs?: (number & tags.Type<'uint32'> & tags.Minimum<1>) | null;
}

export interface ListedKey {
  id: string;
  project: string;
  scope: Scope;
  created_at_ms: number;
  expires_at_ms: number | null;
  label: string | null;
}

export interface CreateKeyResponse extends ListedKey {
  /** Shown here and never again. */
  key: string;
}

export interface ListKeysResponse {
  keys: ListedKey[];
}

export interface HealthResponse {
  status: 'ok' | 'degraded';
  mode: 'cluster' | 'standalone';
  version: string;
  shard_count: number;
  collections: number;
  records: number;
  /** Present where `status` is `degraded`. */
  reason?: string;
  /** Where stored bytes did not verify, while all others are served. Present where there are any. */
  damaged?: DamagedCollection[];
}

export interface DamagedCollection {
  /** Null: the master key, or the vault's entry of it. Encrypted records cannot be written or read; all else is served. */
  collection_id: number | null;
  /**
   * `log` or `vault`: its requests answer 500. `snapshot` or `index`: set aside; it is served from its log. `follower`: a
   * copy beside the owner's; it answers nothing, and the owner serves.
   */
  part: 'log' | 'vault' | 'snapshot' | 'index' | 'follower';
  /** Of the bytes; nothing of the project, the collection's name or what it holds. */
  reason: string;
}

export interface UsageResponse {
  records: number;
  collections: number;
  storage: { event_log_bytes: number; snapshot_bytes: number; total_bytes: number };
}

export interface ErrorResponse {
  error: string;
  code: string;
}

export interface RateLimitedResponse {
  error: string;
}

export const assertCreateKey = typia.createAssert<CreateKeyRequest>(refuseBody);
