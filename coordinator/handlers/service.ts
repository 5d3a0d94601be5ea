/** Health, version, usage, metrics and the OpenAPI document. */
import type { Damage } from '../../shared/damage.js';
import { VouchError } from '../../shared/errors.js';
import type { Health } from '../backend.js';
import type { DamagedCollection, HealthResponse, UsageResponse } from '../contract/service.js';
import { json, jsonText, type Reply, text } from '../http/reply.js';
import { exposition, type Family } from './exposition.js';
import type { HandlerRequest, Services } from './route.js';

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const UNAVAILABLE = 503;
const RETRY_AFTER = ['retry-after', '1'] as const;

export async function health({ backend, version }: Services): Promise<Reply> {
  const { shards, collections, records, problem, impairment, damages } = await backend.health().catch(unhealthy);
  const reason = problem ?? impairment;
  const state: HealthResponse = {
    status: reason === undefined ? 'ok' : 'degraded',
    mode: backend.mode,
    version,
    shard_count: shards,
    collections,
    records,
    ...(reason === undefined ? {} : { reason }),
    ...(damages.length === 0 ? {} : { damaged: damages.map(shownDamage) }),
  };
  // What is only impaired serves: no load balancer should turn everybody away.
  return problem === undefined ? json(state) : { ...json(state, UNAVAILABLE), headers: [RETRY_AFTER] };
}

function unhealthy(error: unknown): Health {
  const problem = error instanceof VouchError ? error.message : 'the cluster could not be asked';
  return { shards: 0, collections: 0, records: 0, problem, impairment: undefined, damages: [] };
}

const shownDamage = ({ collectionId, part, reason }: Damage): DamagedCollection => ({
  collection_id: collectionId,
  part,
  reason,
});

export const version = (_request: HandlerRequest, services: Services): Reply => text(services.version);

export const openApiDocument = ({ openApi }: Services): Reply => jsonText(openApi);

export async function usage({ caller, envelope }: HandlerRequest, { backend }: Services): Promise<Reply> {
  const collections = await backend.list(caller.project, envelope);
  const logBytes = collections.reduce((sum, collection) => sum + collection.logBytes, 0);
  const snapshotBytes = collections.reduce((sum, collection) => sum + collection.snapshotBytes, 0);
  return json<UsageResponse>({
    records: collections.reduce((sum, collection) => sum + collection.records, 0),
    collections: collections.length,
    storage: { event_log_bytes: logBytes, snapshot_bytes: snapshotBytes, total_bytes: logBytes + snapshotBytes },
  });
}

export async function prometheus({ backend, metrics }: Services): Promise<Reply> {
  const [edge, cluster, shards] = await Promise.all([
    metrics.registry.getMetricsAsJSON(),
    backend.metrics(),
    backend.shardMetrics(),
  ]);
  const sources = shards.map(({ shard, json: families }) => ({ labels: { shard }, families: families as Family[] }));
  const own = [edge, cluster].map((families) => ({ labels: {}, families: families as unknown as Family[] }));
  return text(exposition([...own, ...sources]), PROMETHEUS_TEXT);
}
