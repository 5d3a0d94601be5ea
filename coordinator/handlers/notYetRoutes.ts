/** Routes of the contract that answer 501 for now: encrypted records, proofs and the timeline. */
import { assertConsistencyQuery, assertReceiptQuery, assertTimelineQuery } from '../contract/graph.js';
import { assertCollectionQuery } from '../contract/records.js';
import { invalid } from '../contract/refusal.js';
import { idParameter } from '../http/pathParameters.js';
import { refuseRoute } from './notYet.js';
import { queryType, type Route, route } from './route.js';

const READ = { scope: 'read_only', category: 'read', answers: [], errors: ['not_implemented'] } as const;
const WRITE = { scope: 'read_write', category: 'write', answers: [], errors: ['not_implemented'] } as const;

const inCollection = queryType('CollectionQuery', assertCollectionQuery);
const KEY_ID = /^[0-9a-f]{32}$/;

function assertKeyId(keyId: string | undefined): void {
  if (keyId === undefined || !KEY_ID.test(keyId)) throw invalid('the key id in the path is not 32 lowercase hex');
}

const ENCRYPTED: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/records/encrypted',
    summary: 'Insert an encrypted record',
    body: 'insertEncrypted',
    handle: refuseRoute('inserting encrypted records'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/records/encrypted/{id}',
    summary: 'Read an encrypted record',
    query: inCollection,
    handle: refuseRoute('reading encrypted records', idParameter),
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/crypto/shred/{key_id}',
    summary: 'Destroy a vault key',
    handle: refuseRoute('crypto-shredding', assertKeyId),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/crypto/status/{key_id}',
    summary: 'Status of a vault key',
    handle: refuseRoute('the status of vault keys', assertKeyId),
  }),
];

const PROOFS: readonly Route[] = [
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/state',
    summary: "Roots and hashes of a collection's state",
    query: inCollection,
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/event-log',
    summary: "Hashes of a collection's log",
    query: inCollection,
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/receipt',
    summary: 'The receipt of a past write',
    query: queryType('ReceiptQuery', assertReceiptQuery),
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/proof/consistency',
    summary: 'Proof that a later log extends an earlier one',
    query: queryType('ConsistencyQuery', assertConsistencyQuery),
    handle: refuseRoute('reading proofs'),
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/timeline',
    summary: "A collection's events in order",
    query: queryType('TimelineQuery', assertTimelineQuery),
    handle: refuseRoute('the timeline'),
  }),
];

export const NOT_YET_ROUTES: readonly Route[] = [...ENCRYPTED, ...PROOFS];
