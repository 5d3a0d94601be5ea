/** HTTP requests and answers of calls about encrypted records and keys. */
import type { GetSecretCall, InsertSecretCall, KeyStatusCall, ShredCall } from '../../history/secrets.js';
import { plaintextOf } from '../../history/secrets.js';
import { get, NO_RECORD, post, type Way } from './call.js';

interface KeyBody {
  readonly key_id: string;
}

export const insertEncrypted: Way<InsertSecretCall, KeyBody & { readonly id: number }> = {
  request: ({ collection, secret }) => {
    const payload = Buffer.from(plaintextOf(secret)).toString('base64');
    const body = { collection, payload, key_id: secret.keyId, tag: secret.mark };
    return { ...post('/v1/records/encrypted', body), idempotencyKey: secret.requestId };
  },
  answer: ({ id, key_id: keyId }) => ({ id, keyId }),
  // The requests of a soak have no other defect.
  noes: { '400 validation_error': 'shredded' },
};

export const getEncrypted: Way<GetSecretCall, KeyBody & { readonly payload: string }> = {
  request: ({ collection, id }) => get(`/v1/records/encrypted/${id}?collection=${collection}`),
  answer: ({ key_id: keyId, payload }) => ({ keyId, plaintext: Buffer.from(payload, 'base64').toString() }),
  noes: { ...NO_RECORD, '410 record_shredded': 'shredded' },
};

export const shred: Way<ShredCall, KeyBody> = {
  request: ({ keyId }) => ({ method: 'DELETE', path: `/v1/crypto/shred/${keyId}` }),
  answer: ({ key_id: keyId }) => ({ keyId }),
};

export const keyStatus: Way<KeyStatusCall, { readonly status: string }> = {
  request: ({ keyId }) => get(`/v1/crypto/status/${keyId}`),
  answer: ({ status }) => ({ status }),
};
