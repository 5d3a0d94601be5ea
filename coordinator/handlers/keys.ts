/** The endpoints of API keys: those of the caller's project. */
import { systemEntropy } from '../../shared/clock.js';
import { refusal } from '../../shared/errors/errors.js';
import { createKey, isExpired, type KeyRecord, listKeys, revokeKey } from '../../shared/registry/keys.js';
import type { CreateKeyResponse, ListedKey, ListKeysResponse, OwnKeyResponse } from '../contract/service.js';
import type { HandlerRequest } from '../http/handlerRequest.js';
import { json, noContent, type Reply } from '../http/reply.js';
import { adminReadRoute, adminWriteRoute, NO_CONTENT, type Route, readRoute } from '../http/route.js';
import { refuseIdempotencyKey } from './idempotencyKey.js';

export const KEY_ROUTES: readonly Route[] = [
  adminWriteRoute('POST /v1/keys', {
    summary: "Make a key for the caller's project",
    body: 'createKey',
    answers: 'CreateKeyResponse',
    errors: ['capacity_exceeded'],
    handle: async ({ body, caller, idempotencyKey, services: { keys, keyring, clock } }) => {
      refuseIdempotencyKey(idempotencyKey);
      const { scope, label = null, expires_in_secs, collections = null } = body;
      const expiresAtMs = expires_in_secs ? clock.nowMs() + 1000 * expires_in_secs : null;
      const wanted = { project: caller.project, scope, expiresAtMs, label, collections };
      const { key, record } = await keyring.make(caller.project, () => createKey(keys, wanted, clock, systemEntropy));
      return json<CreateKeyResponse>({ ...listed(record, clock.nowMs()), key });
    },
  }),
  adminReadRoute('GET /v1/keys', {
    summary: "List the project's keys",
    answers: 'ListKeysResponse',
    handle: (request) => request.shared('keys', () => keysReply(request)),
  }),
  readRoute('GET /v1/keys/self', {
    summary: 'The project and the scope of the key of this request',
    answers: 'OwnKeyResponse',
    handle: async ({ caller: { keyId: id, project, scope, collections } }) =>
      json<OwnKeyResponse>({ id, project, scope, ...(collections && { collections: [...collections] }) }),
  }),
  adminWriteRoute('DELETE /v1/keys/{id}', {
    summary: 'Revoke a key',
    answers: NO_CONTENT,
    errors: ['not_found'],
    handle: async ({ parameters, caller, services: { keys, keyring } }) => {
      const hashHex = await revokeKey(keys, parameters[0] ?? '', caller.project);
      if (hashHex === undefined) throw refusal('not_found', 'key');
      keyring.forget(hashHex);
      return noContent;
    },
  }),
];

async function keysReply({ caller, services: { keys, clock } }: HandlerRequest): Promise<Reply> {
  const records = await listKeys(keys, caller.project);
  const nowMs = clock.nowMs();
  return json<ListKeysResponse>({ keys: records.map((record) => listed(record, nowMs)) });
}

const listed = (record: KeyRecord, nowMs: number): ListedKey => ({
  ...{ id: record.id, project: record.project, scope: record.scope },
  created_at_ms: record.createdAtMs,
  expires_at_ms: record.expiresAtMs,
  expired: isExpired(record, nowMs),
  label: record.label,
  ...(record.collections && { collections: [...record.collections] }),
});
