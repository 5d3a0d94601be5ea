/** The routes of proofs and of the timeline. All of them only read. */
import type { Answer } from '../contract/openapi.js';
import {
  assertConsistencyQuery,
  assertInclusionQuery,
  assertReceiptQuery,
  assertTimelineQuery,
  type ConsistencyQuery,
  type InclusionQuery,
  type ReceiptQuery,
  type TimelineQuery,
} from '../contract/proofs.js';
import { assertCollectionQuery, type CollectionQuery } from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import {
  listSigningKeys,
  proveConsistency,
  proveEventLog,
  proveInclusion,
  proveState,
  proveWrite,
  signCheckpoint,
} from './proofs.js';
import { queryType, type Route, route } from './route.js';
import { readTimeline } from './timeline.js';

const READ = { scope: 'read_only', category: 'read', method: 'GET' } as const;

const ok = (body: SchemaName): Answer[] => [{ status: 200, description: 'Success.', body }];
const inCollection = queryType<CollectionQuery>('CollectionQuery', assertCollectionQuery);

export const PROOF_ROUTES: readonly Route[] = [
  route({
    ...READ,
    path: '/v1/proof/state',
    summary: "Roots and hashes of a collection's state",
    query: inCollection,
    answers: ok('StateProofResponse'),
    errors: ['collection_not_found'],
    handle: proveState,
  }),
  route({
    ...READ,
    path: '/v1/proof/event-log',
    summary: "Hashes of a collection's log",
    query: inCollection,
    answers: ok('EventLogProofResponse'),
    errors: ['collection_not_found'],
    handle: proveEventLog,
  }),
  route({
    ...READ,
    path: '/v1/proof/receipt',
    summary: 'The receipt of any past write of a record',
    query: queryType<ReceiptQuery>('ReceiptQuery', assertReceiptQuery),
    answers: ok('Receipt'),
    errors: ['collection_not_found'],
    handle: proveWrite,
  }),
  route({
    ...READ,
    path: '/v1/proof/inclusion',
    summary: 'Proof that an event is in the log',
    query: queryType<InclusionQuery>('InclusionQuery', assertInclusionQuery),
    answers: ok('InclusionResponse'),
    errors: ['collection_not_found'],
    handle: proveInclusion,
  }),
  route({
    ...READ,
    path: '/v1/proof/consistency',
    summary: 'Proof that a later log extends an earlier one',
    query: queryType<ConsistencyQuery>('ConsistencyQuery', assertConsistencyQuery),
    answers: ok('ConsistencyResponse'),
    errors: ['collection_not_found'],
    handle: proveConsistency,
  }),
  route({
    ...READ,
    path: '/v1/proof/checkpoint',
    summary: 'What the log and the state are now, signed',
    query: inCollection,
    answers: ok('CheckpointResponse'),
    errors: ['collection_not_found'],
    handle: signCheckpoint,
  }),
  route({
    ...READ,
    path: '/v1/proof/keys',
    summary: 'The public keys that checkpoints are signed with',
    answers: ok('SigningKeysResponse'),
    handle: listSigningKeys,
  }),
  route({
    ...READ,
    path: '/v1/timeline',
    summary: "A collection's events in order",
    query: queryType<TimelineQuery>('TimelineQuery', assertTimelineQuery),
    answers: ok('TimelineResponse'),
    errors: ['collection_not_found'],
    handle: readTimeline,
  }),
];
