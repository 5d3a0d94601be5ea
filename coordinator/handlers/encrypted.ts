/** Encrypted records, and the life of their keys. */
import type { InsertEncryptedCall } from '../../shared/calls.js';
import { VouchError } from '../../shared/errors.js';
import { forget } from '../../shared/vault/vaultStore.js';
import type { Prepared } from '../body/kinds.js';
import {
  type EncryptedRecordResponse,
  type InsertEncryptedResponse,
  type KeyStatusResponse,
  keyIdParameter,
  type ShredResponse,
} from '../contract/encrypted.js';
import type { CollectionQuery } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { idParameter } from '../http/pathParameters.js';
import { json, type Reply } from '../http/reply.js';
import { shredKey } from '../vault/shred.js';
import { findCollection } from './findCollection.js';
import { headerRequestId } from './idempotencyKey.js';
import type { HandlerRequest, Services } from './route.js';

export async function insertEncrypted(
  { caller, body, idempotencyKey, envelope }: HandlerRequest<Prepared<'insertEncrypted'>>,
  { backend }: Services,
): Promise<Reply> {
  const { payload, keyId, tag } = body;
  const requestId = headerRequestId(idempotencyKey);
  const call: InsertEncryptedCall = { op: 'insertEncrypted', payload, keyId, tag, requestId };
  const { id, keyId: key_id } = await refusingUnknown(async () => {
    const collection = await findCollection(backend, caller.project, body.collection);
    return backend.call(collection, call, envelope);
  });
  return json<InsertEncryptedResponse>({ id, key_id });
}

export async function getEncrypted(
  { caller, parameters, query, envelope }: HandlerRequest<undefined, CollectionQuery>,
  { backend }: Services,
): Promise<Reply> {
  const id = idParameter(parameters[0]);
  const collection = await findCollection(backend, caller.project, query.collection);
  const { keyId, payload } = await backend.call(collection, { op: 'getEncrypted', id }, envelope);
  const { buffer, byteOffset, length } = payload;
  return json<EncryptedRecordResponse>({
    id,
    key_id: keyId,
    payload: Buffer.from(buffer, byteOffset, length).toString('base64'),
  });
}

export async function shred({ caller, parameters, envelope }: HandlerRequest, { backend }: Services): Promise<Reply> {
  const keyId = keyIdParameter(parameters[0]);
  await shredKey(backend, caller.project, keyId, envelope);
  return json<ShredResponse>({ key_id: keyId, shredded: true });
}

export async function keyStatus({ caller, parameters }: HandlerRequest, { backend }: Services): Promise<Reply> {
  const keyId = keyIdParameter(parameters[0]);
  const stored = await (await backend.vault()).get(caller.project, keyId);
  forget(stored);
  const status = stored?.entry.status ?? 'unknown';
  return json<KeyStatusResponse>({ key_id: keyId, exists: status === 'active', status });
}

/** On this endpoint, and on no other, the contract counts an unknown collection among the faults of the body. */
async function refusingUnknown<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof VouchError && error.code === 'collection_not_found' ? invalid(error.message) : error;
  }
}
