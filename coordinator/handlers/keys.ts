/** The keys of the caller's project. */
import type { Bucket } from '../../shared/bucket/bucket.js';
import type { Clock, Entropy } from '../../shared/clock.js';
import { VouchError } from '../../shared/errors.js';
import { createKey, type KeyRecord, listKeys, revokeKey } from '../../shared/keys.js';
import type { Keyring } from '../auth/keyring.js';
import type { Prepared } from '../body/kinds.js';
import type { CreateKeyResponse, ListedKey, ListKeysResponse } from '../contract/service.js';
import { json, noContent, type Reply } from '../http/reply.js';
import type { HandlerRequest, Services } from './route.js';

export interface KeyAdministration {
  readonly bucket: Bucket;
  readonly keyring: Keyring;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export async function createProjectKey(
  { caller, body }: HandlerRequest<Prepared<'createKey'>>,
  { keys: { bucket, clock, entropy } }: Services,
): Promise<Reply> {
  const { scope, label, expires_in_secs } = body;
  const expiresAtMs = expires_in_secs ? clock.nowMs() + 1000 * expires_in_secs : null;
  const wanted = { project: caller.project, scope, expiresAtMs, label: label ?? null };
  const { key, record } = await createKey(bucket, wanted, clock, entropy);
  return json<CreateKeyResponse>({ ...listed(record), key });
}

export async function listProjectKeys({ caller }: HandlerRequest, { keys }: Services): Promise<Reply> {
  const records = await listKeys(keys.bucket, caller.project);
  return json<ListKeysResponse>({ keys: records.map(listed) });
}

export async function revokeProjectKey(
  { caller, parameters }: HandlerRequest,
  { keys: { bucket, keyring } }: Services,
): Promise<Reply> {
  const hashHex = await revokeKey(bucket, parameters[0] ?? '', caller.project);
  if (hashHex === undefined) throw new VouchError('not_found', 'the project has no key of this id');
  keyring.forget(hashHex);
  return noContent;
}

const listed = ({ id, project, scope, createdAtMs, expiresAtMs, label }: KeyRecord): ListedKey => ({
  id,
  project,
  scope,
  created_at_ms: createdAtMs,
  expires_at_ms: expiresAtMs,
  label,
});
