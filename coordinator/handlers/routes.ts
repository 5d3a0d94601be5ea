/**
 * Every route there is, in the order of the documentation. The server, the rate limiter, the metrics and the OpenAPI
 * document all read this table and nothing else.
 */
import type { Answer } from '../contract/openapi.js';
import { assertCollectionQuery, type CollectionQuery } from '../contract/records.js';
import type { SchemaName } from '../contract/schemas.js';
import { BACKUP_ROUTES } from './backupRoutes.js';
import { insertBatch } from './batch.js';
import { createCollection, deleteCollection, listCollections } from './collections.js';
import { ENCRYPTED_ROUTES } from './encryptedRoutes.js';
import { GRAPH_ROUTES } from './graphRoutes.js';
import { configureIndex, indexConfig, indexState } from './indexes.js';
import { createProjectKey, listProjectKeys, revokeProjectKey } from './keys.js';
import { multiSearch } from './multiSearch.js';
import { PROOF_ROUTES } from './proofRoutes.js';
import { rebuild } from './rebuild.js';
import { deleteRecord, getRecord, insertRecord, updateMetadata } from './records.js';
import { type OpenRoute, openRoute, queryType, type Route, route } from './route.js';
import { search } from './search.js';
import { health, openApiDocument, prometheus, usage, version } from './service.js';

const READ = { scope: 'read_only', category: 'read' } as const;
const WRITE = { scope: 'read_write', category: 'write' } as const;

const ok = (body: SchemaName | 'text' | 'json'): Answer[] => [{ status: 200, description: 'Success.', body }];
const gone: Answer[] = [{ status: 204, description: 'Done.', body: null }];
const inCollection = queryType<CollectionQuery>('CollectionQuery', assertCollectionQuery);

const RECORD_ROUTES: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/records',
    summary: 'Insert a vector',
    body: 'insert',
    answers: ok('InsertResponse'),
    errors: ['dimension_mismatch', 'collection_not_found', 'capacity_exceeded'],
    handle: insertRecord,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/vectors/batch-insert',
    summary: 'Insert many vectors, all of them or none',
    body: 'batch',
    answers: ok('BatchInsertResponse'),
    errors: ['dimension_mismatch', 'collection_not_found', 'capacity_exceeded'],
    handle: insertBatch,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/records/{id}',
    summary: 'Read a record',
    query: inCollection,
    answers: ok('RecordResponse'),
    errors: ['collection_not_found', 'record_not_found'],
    handle: getRecord,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/soft-delete',
    summary: 'Hide a record and keep its slot',
    body: 'recordReference',
    answers: ok('DeleteResponse'),
    errors: ['collection_not_found', 'record_not_found'],
    handle: deleteRecord('softDelete'),
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/delete',
    summary: 'Delete a record and free its slot',
    body: 'recordReference',
    answers: ok('DeleteResponse'),
    errors: ['collection_not_found', 'record_not_found'],
    handle: deleteRecord('delete'),
  }),
  route({
    ...WRITE,
    method: 'PATCH',
    path: '/v1/records/{id}/metadata',
    summary: "Replace a record's metadata",
    body: 'metadata',
    query: inCollection,
    answers: ok('MetadataResponse'),
    errors: ['collection_not_found', 'record_not_found'],
    handle: updateMetadata,
  }),
];

const SEARCH_ROUTES: readonly Route[] = [
  route({
    ...READ,
    method: 'POST',
    path: '/v1/search',
    summary: 'Search a collection',
    body: 'search',
    answers: ok('SearchResponse'),
    errors: ['dimension_mismatch', 'collection_not_found'],
    handle: search,
  }),
  route({
    ...READ,
    method: 'POST',
    path: '/v1/search/multi',
    summary: 'Search several collections and merge their results',
    body: 'multiSearch',
    answers: ok('MultiSearchResponse'),
    errors: ['dimension_mismatch', 'collection_not_found'],
    handle: multiSearch,
  }),
];

const COLLECTION_ROUTES: readonly Route[] = [
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/namespaces',
    summary: 'Create a collection',
    body: 'createCollection',
    answers: ok('CreateCollectionResponse'),
    errors: ['invalid_index', 'conflict', 'capacity_exceeded', 'not_implemented'],
    handle: createCollection,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/namespaces',
    summary: 'List the collections',
    answers: ok('ListCollectionsResponse'),
    handle: listCollections,
  }),
  route({
    ...WRITE,
    method: 'DELETE',
    path: '/v1/namespaces/{name}',
    summary: 'Delete a collection and all its records',
    answers: gone,
    errors: ['collection_not_found'],
    handle: deleteCollection,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/namespaces/{name}/index',
    summary: "Configure or drop a collection's index",
    body: 'configureIndex',
    answers: [
      { status: 202, description: 'The build has begun; poll the state until it settles.', body: 'IndexState' },
      { status: 200, description: 'The index is dropped.', body: 'IndexState' },
    ],
    errors: ['invalid_index', 'collection_not_found', 'conflict', 'not_implemented'],
    handle: configureIndex,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/namespaces/{name}/index',
    summary: "State of a collection's index",
    answers: ok('IndexState'),
    errors: ['collection_not_found'],
    handle: indexState,
  }),
  route({
    ...WRITE,
    method: 'POST',
    path: '/v1/index/rebuild',
    summary: "Rebuild every collection's index, while the project's writes wait",
    body: 'rebuild',
    answers: ok('RebuildResponse'),
    errors: ['invalid_index', 'conflict', 'not_implemented'],
    handle: rebuild,
  }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/index/config',
    summary: 'How indexes are configured on this node',
    answers: ok('IndexConfigResponse'),
    handle: indexConfig,
  }),
];

const KEY_ROUTES: readonly Route[] = [
  route({
    scope: 'admin',
    category: 'write',
    method: 'POST',
    path: '/v1/keys',
    summary: "Make a key for the caller's project",
    body: 'createKey',
    answers: ok('CreateKeyResponse'),
    handle: createProjectKey,
  }),
  route({
    scope: 'admin',
    category: 'read',
    method: 'GET',
    path: '/v1/keys',
    summary: "List the project's keys",
    answers: ok('ListKeysResponse'),
    handle: listProjectKeys,
  }),
  route({
    scope: 'admin',
    category: 'write',
    method: 'DELETE',
    path: '/v1/keys/{id}',
    summary: 'Revoke a key',
    answers: gone,
    errors: ['not_found'],
    handle: revokeProjectKey,
  }),
];

const SERVICE_ROUTES: readonly Route[] = [
  openRoute(
    '/health',
    'Whether the service can do its work',
    [...ok('HealthResponse'), { status: 503, description: 'It cannot.', body: 'HealthResponse' }],
    health,
  ),
  openRoute('/openapi.json', 'This document', ok('json'), openApiDocument),
  route({ ...READ, method: 'GET', path: '/v1/version', summary: 'Version', answers: ok('text'), handle: version }),
  route({
    ...READ,
    method: 'GET',
    path: '/v1/usage',
    summary: 'What the project holds and takes',
    answers: ok('UsageResponse'),
    handle: usage,
  }),
];

export const METRICS_ROUTE: OpenRoute = openRoute('/metrics', 'Metrics for Prometheus', ok('text'), prometheus);

/** The API. `/metrics` stands beside it or at an address of its own, as configured. */
export const API_ROUTES: readonly Route[] = [
  ...COLLECTION_ROUTES,
  ...RECORD_ROUTES,
  ...ENCRYPTED_ROUTES,
  ...SEARCH_ROUTES,
  ...GRAPH_ROUTES,
  ...PROOF_ROUTES,
  ...BACKUP_ROUTES,
  ...KEY_ROUTES,
  ...SERVICE_ROUTES,
];
