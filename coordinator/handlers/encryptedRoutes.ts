import { assertCollectionQuery } from '../contract/records.js';
import { getEncrypted, insertEncrypted, keyStatus, shred } from './encrypted.js';
import { queryType, type Route, route } from './route.js';

const READ = { scope: 'read_only', category: 'read' } as const;
const WRITE = { scope: 'read_write', category: 'write' } as const;

export const ENCRYPTED_ROUTES: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/records/encrypted',
    summary: 'Insert a record that is encrypted under a vault key',
    body: 'insertEncrypted',
    answers: [{ status: 200, description: 'Success.', body: 'InsertEncryptedResponse' }],
    errors: ['conflict', 'capacity_exceeded'],
    handle: insertEncrypted,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/records/encrypted/{id}',
    summary: 'Read an encrypted record in plain',
    query: queryType('CollectionQuery', assertCollectionQuery),
    answers: [{ status: 200, description: 'Success.', body: 'EncryptedRecordResponse' }],
    errors: ['collection_not_found', 'record_not_found', 'record_shredded'],
    handle: getEncrypted,
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/crypto/shred/{key_id}',
    summary: 'Destroy a vault key, and with it what is encrypted under it',
    answers: [{ status: 200, description: 'It is destroyed everywhere.', body: 'ShredResponse' }],
    handle: shred,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/crypto/status/{key_id}',
    summary: 'Whether a vault key is there, was destroyed or never was',
    answers: [{ status: 200, description: 'Success.', body: 'KeyStatusResponse' }],
    handle: keyStatus,
  }),
];
