/** The endpoints of collections and of their indexes. */
import type { Config } from '../../config/config.js';
import { refusal } from '../../shared/errors/errors.js';
import { namedActor } from '../../shared/model/actor.js';
import { parametersOf } from '../../shared/model/indexParameters.js';
import { BRUTE, type IndexState as ShardIndexState } from '../../shared/model/indexSpec.js';
import { type AccessChange, readAuditOf } from '../../shared/model/readAudit.js';
import { LANGUAGE_VERSION } from '../../shared/model/textLanguage.js';
import { isImporting } from '../../shared/registry/catalogEntry.js';
import { mayUse } from '../../shared/registry/keyCollections.js';
import { allows } from '../../shared/registry/keys.js';
import type { Caller } from '../auth/authenticate.js';
import type { Collection, CountedCollection } from '../cluster/catalog/collection.js';
import type { ChangeCollectionRequest } from '../contract/access.js';
import type {
  CreateCollectionRequest,
  CreateCollectionResponse,
  IndexConfigResponse,
  IndexParameters,
  IndexState,
  ListCollectionsResponse,
  ListedCollection,
} from '../contract/collections.js';
import { invalid } from '../contract/refusal.js';
import { COLLECTION_ERRORS, collectionName, type HandlerRequest } from '../http/handlerRequest.js';
import { json, noContent, type Reply } from '../http/reply.js';
import { adminWriteRoute, NO_CONTENT, type Route, readRoute, writeRoute } from '../http/route.js';
import { kindOf, rebuild } from './rebuild.js';

const ACCEPTED = 202;

export const COLLECTION_ROUTES: readonly Route[] = [
  writeRoute('POST /v1/namespaces', {
    summary: 'Create a collection',
    body: 'createCollection',
    answers: 'CreateCollectionResponse',
    errors: ['invalid_index', 'conflict', 'capacity_exceeded', 'not_implemented'],
    handle: async (request) => {
      const { body, caller, services, envelope } = request;
      const { name, dimension } = body;
      await request.assertMayTake(name);
      const index = body.index ?? 'brute';
      const normalise = isNormalising(body);
      if (index !== 'brute') assertIndexing(services.config);
      const { audit_reads, access_retention_days: retentionDays, ttl_secs: ttlSecs } = body;
      const audit = audit_reads == null ? {} : { audit: readAuditOf(audit_reads) };
      const text = body.text && { text: { ...body.text, version: LANGUAGE_VERSION } as const };
      const erasable = body.erasable ?? false;
      const rules = { ...(normalise && { normalise }), ...text, ...(erasable && { erasable }) };
      const wanted = {
        ...{ name, dimension, ...rules, index, ...audit },
        ...(retentionDays && { retentionDays }),
        ...(ttlSecs && { ttlSecs }),
      };
      const { collection, created } = await services.backend.create(caller.project, wanted, envelope);
      return json<CreateCollectionResponse>({ name: collection.name, id: collection.id, created });
    },
  }),
  readRoute('GET /v1/namespaces', {
    summary: 'List the collections',
    answers: 'ListCollectionsResponse',
    handle: (request) => request.shared('collections', () => collectionsReply(request)),
  }),
  readRoute('GET /v1/namespaces/{name}', {
    summary: 'Read the facts of one collection',
    answers: 'ListedCollection',
    errors: ['collection_not_found'],
    handle: async (request) => {
      const { caller, services, envelope } = request;
      const name = collectionName(request.parameters[0]);
      const listed = await request.usable(name, services.backend.listed(caller.project, name, envelope));
      return json(listedCollection(listed, services.config));
    },
  }),
  adminWriteRoute('PATCH /v1/namespaces/{name}', {
    summary: 'Switch the access log of a collection, or say how long its entries are kept',
    body: 'changeCollection',
    answers: 'ListedCollection',
    errors: COLLECTION_ERRORS,
    handle: async (request) => {
      const { body, services, envelope } = request;
      const collection = await request.find(request.parameters[0]);
      const changed = await services.backend.changeAccess(collection, accessChange(body), envelope);
      return json(listedCollection(changed, services.config));
    },
  }),
  writeRoute('DELETE /v1/namespaces/{name}', {
    summary: 'Delete a collection and all its records',
    answers: NO_CONTENT,
    errors: COLLECTION_ERRORS,
    handle: async (request) => {
      const { caller, services, envelope } = request;
      const name = collectionName(request.parameters[0]);
      await request.assertMayTake(name);
      await services.backend.remove(caller.project, name, envelope, (found) => assertMayErase(caller, found));
      return noContent;
    },
  }),
  writeRoute('POST /v1/namespaces/{name}/index', {
    summary: "Configure or drop a collection's index",
    body: 'configureIndex',
    answers: [
      { status: ACCEPTED, description: 'The build has begun; poll the state until it settles.', body: 'IndexState' },
      { status: 200, description: 'The index is dropped.', body: 'IndexState' },
    ],
    errors: ['invalid_index', ...COLLECTION_ERRORS, 'not_implemented'],
    handle: async (request) => {
      const { type, parameters } = request.body;
      if (type === 'ivf') assertProbes(parameters ?? {});
      const collection = await request.find(request.parameters[0]);
      assertIndexing(request.services.config);
      const spec = type ? { kind: type, parameters: parametersOf(parameters ?? {}) } : BRUTE;
      const state = await request.call(collection, { op: 'configureIndex', spec });
      return json(indexState(collection.name, state), type ? ACCEPTED : undefined);
    },
  }),
  readRoute('GET /v1/namespaces/{name}/index', {
    summary: "State of a collection's index",
    answers: 'IndexState',
    errors: COLLECTION_ERRORS,
    handle: async (request) => {
      const collection = await request.find(request.parameters[0]);
      return json(indexState(collection.name, await request.call(collection, { op: 'indexState' })));
    },
  }),
  writeRoute('POST /v1/index/rebuild', {
    summary: "Rebuild every collection's index, while the project's writes wait",
    body: 'rebuild',
    deadline: 'rebuildMs',
    isOfProject: true,
    answers: 'RebuildResponse',
    errors: ['invalid_index', 'conflict', 'not_implemented'],
    handle: async (request) => {
      const { index } = request.body;
      if (index && kindOf(index) !== 'brute') assertIndexing(request.services.config);
      return rebuild(request);
    },
  }),
  readRoute('GET /v1/index/config', {
    summary: 'How indexes are configured on this node',
    answers: 'IndexConfigResponse',
    handle: async () => json<IndexConfigResponse>({ index_type: 'collection_scoped' }),
  }),
];

async function collectionsReply({ caller, services, envelope }: HandlerRequest): Promise<Reply> {
  const all = await services.backend.list(caller.project, envelope);
  const collections = all.filter(({ name }) => mayUse(caller.collections, name));
  return json<ListCollectionsResponse>({
    collections: collections.map((collection) => listedCollection(collection, services.config)),
  });
}

function listedCollection(collection: CountedCollection, { limits }: Config): ListedCollection {
  const { name, id, dimension, metric, normalise, text, erasable, auditReads, accessRetentionDays } = collection;
  const { ttlSecs, serving, records, imported } = collection;
  return {
    ...{ name, id, dimension, metric, ...(normalise && { normalise }), ...(auditReads && { audit_reads: auditReads }) },
    ...(accessRetentionDays && { access_retention_days: accessRetentionDays }),
    ...(text && { text: { language: text.language } }),
    ...(ttlSecs && { ttl_secs: ttlSecs }),
    ...(erasable && { erasable }),
    ...{ index: serving, record_count: records, max_records: limits.maxRecords },
    ...(isImporting(collection) ? { importing: true } : {}),
    ...(imported?.by && { imported_by: namedActor(imported.by) }),
  };
}

/** Throws `validation_error` where nothing is to be changed. */
function accessChange({ audit_reads, access_retention_days: days }: ChangeCollectionRequest): AccessChange {
  if (audit_reads === undefined && days === undefined)
    throw invalid('expected $.audit_reads or $.access_retention_days: no other field can be changed');
  return {
    ...(audit_reads !== undefined && { audit: readAuditOf(audit_reads) }),
    ...(days !== undefined && { retentionDays: days ?? 0 }),
  };
}

/** Throws `forbidden` if the key may not erase the access log of the collection. */
function assertMayErase({ scope }: Caller, { name, auditReads, wasAudited }: Collection): void {
  if ((auditReads !== undefined || wasAudited) && !allows(scope, 'admin'))
    throw refusal('forbidden', 'accessLog', { name: JSON.stringify(name), own: scope });
}

/** Throws `validation_error` where the two spellings say different things. */
function isNormalising({ normalise, normalize }: CreateCollectionRequest): boolean {
  if (normalise != null && normalize != null && normalise !== normalize)
    throw invalid('$.normalize is another spelling of $.normalise: leave out one of the two');
  return normalise ?? normalize ?? false;
}

/** Throws `not_implemented` if this node is configured for exact search only. */
function assertIndexing({ ann }: Config): void {
  if (!ann) throw refusal('not_implemented', 'indexes');
}

function assertProbes({ n_list, n_probe }: IndexParameters): void {
  if (n_list && n_probe && n_probe > n_list)
    throw invalid(`$.parameters.n_probe: expected at most n_list (${n_list}), got ${n_probe}`);
}

/** The generations may be null; the other fields without a value are left out. */
function indexState(collection: string, state: ShardIndexState): IndexState {
  const { activeKind, status, desiredKind, activeGeneration, buildingGeneration } = state;
  const { segments, buildStartedAtMs, buildProgress, baseSequence, error } = state;
  return {
    ...{ collection, active_type: activeKind, status },
    desired_type: desiredKind === 'brute' ? 'none' : desiredKind,
    ...{ active_generation: activeGeneration, building_generation: buildingGeneration },
    ...(segments === null ? {} : { segments }),
    ...(buildStartedAtMs === null ? {} : { build_started_at: Math.floor(buildStartedAtMs / 1_000) }),
    ...(buildProgress === null ? {} : { build_progress: buildProgress }),
    ...(baseSequence === null ? {} : { base_lsn: baseSequence }),
    ...(error === null ? {} : { error }),
  };
}
