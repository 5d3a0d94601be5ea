/** The endpoints of encrypted records and of their keys. */
import { isCollectionNotFound, VouchError } from '../../shared/errors/errors.js';
import {
  type EncryptedRecordResponse,
  type InsertEncryptedResponse,
  type KeyStatusResponse,
  keyIdParameter,
  type ShredResponse,
} from '../contract/encrypted.js';
import { invalid } from '../contract/refusal.js';
import { json } from '../http/reply.js';
import { inCollection, type Route, readRoute, writeRoute } from '../http/route.js';
import { headerRequestId } from './idempotencyKey.js';
import { lifeOf } from './records.js';
import { shredKey } from './shred.js';

export const ENCRYPTED_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/records/encrypted', {
    summary: 'Insert a record that is encrypted under a vault key',
    body: 'insertEncrypted',
    isIdempotent: true,
    answers: 'InsertEncryptedResponse',
    errors: ['conflict', 'capacity_exceeded'],
    handle: async (request) => {
      const { payload, keyId, tag, expiry } = request.body;
      const requestId = headerRequestId(request.idempotencyKey);
      const collection = await request.find(request.body.collection).catch(refuseUnknown);
      const life = lifeOf(collection);
      const call = { op: 'insertEncrypted', payload, keyId, tag, requestId, ...expiry, ...life } as const;
      const inserted = await request.call(collection, call).catch(refuseUnknown);
      return json<InsertEncryptedResponse>({ id: inserted.id, key_id: inserted.keyId });
    },
  }),
  readRoute('GET /v1/records/encrypted/{id}', {
    summary: 'Read an encrypted record in plain',
    query: inCollection,
    answers: 'EncryptedRecordResponse',
    errors: ['record_not_found', 'record_shredded'],
    handle: async (request) => {
      const { id } = request;
      const { keyId, payload } = await request.callNamed(request.query.collection, { op: 'getEncrypted', id });
      const { buffer, byteOffset, length } = payload;
      const base64 = Buffer.from(buffer, byteOffset, length).toString('base64');
      return json<EncryptedRecordResponse>({ id, key_id: keyId, payload: base64 });
    },
  }),
  writeRoute('DELETE /v1/crypto/shred/{key_id}', {
    isOfProject: true,
    summary: 'Destroy a vault key, and with it every record encrypted under it',
    answers: [{ status: 200, description: 'The key is destroyed everywhere.', body: 'ShredResponse' }],
    errors: ['capacity_exceeded'],
    handle: async ({ parameters, caller, services, envelope }) => {
      const keyId = keyIdParameter(parameters[0]);
      await shredKey(services.backend, caller.project, keyId, envelope);
      return json<ShredResponse>({ key_id: keyId, shredded: true });
    },
  }),
  readRoute('GET /v1/crypto/status/{key_id}', {
    isOfProject: true,
    summary: 'Whether a vault key exists, was destroyed, or is unknown',
    answers: 'KeyStatusResponse',
    handle: async ({ parameters, caller, services, envelope }) => {
      const keyId = keyIdParameter(parameters[0]);
      const entry = await services.backend.keyEntries.find(caller.project, keyId, envelope);
      if (entry === 'damaged') throw new VouchError('internal_error', `the vault entry of key ${keyId} is damaged`);
      const status = entry?.status ?? 'unknown';
      return json<KeyStatusResponse>({ key_id: keyId, exists: status === 'active', status });
    },
  }),
];

/** On this endpoint alone the contract answers an unknown collection with 400. */
function refuseUnknown(error: unknown): never {
  throw isCollectionNotFound(error) ? invalid(error.message) : error;
}
