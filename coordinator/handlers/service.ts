/** The endpoints of the service itself: health, version, usage, metrics and the OpenAPI document. */
import type { Clock } from '../../shared/clock.js';
import { UNAVAILABLE_RETRY_SECS, VouchError } from '../../shared/errors/errors.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { joinMetricTexts } from '../../shared/metrics/metricsText.js';
import { limitsOf, totalHeld } from '../../shared/model/quotas.js';
import type { Backend } from '../cluster/clusterBackend.js';
import type { Health } from '../cluster/reports/clusterHealth.js';
import type { HealthResponse, UsageResponse } from '../contract/service.js';
import type { HandlerRequest, OpenAnswers } from '../http/handlerRequest.js';
import { inBytes, json, type Reply, text } from '../http/reply.js';
import { type Route, readRoute, serviceRoute, success } from '../http/route.js';
import { SharedAnswer } from '../http/sharedAnswer.js';

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';
const UNAVAILABLE = 503;
const DAMAGE = 'stored bytes are damaged or lost; `damaged` lists them, and everything else is served';
const RETRY_AFTER = ['retry-after', String(UNAVAILABLE_RETRY_SECS)] as const;

/** Reuse of a health answer, which reads all members and asks a store. */
const HEALTH_KEPT_MS = 250;
/** Reuse of the metrics, which ask every shard and render some hundred kilobytes. */
const METRICS_KEPT_MS = 1_000;
/** Largest number of requests that wait for the metrics: each gets the whole text in one turn of the event loop. */
const METRICS_WAITING_MAX = 16;

export const SERVICE_ROUTES: readonly Route[] = [
  serviceRoute({
    path: '/health',
    scope: null,
    summary: 'Whether the service can do its work',
    answers: [...success('HealthResponse'), { status: UNAVAILABLE, description: 'It cannot.', body: 'HealthResponse' }],
    handle: ({ open }) => open.health.get(),
  }),
  serviceRoute({
    path: '/openapi.json',
    scope: null,
    summary: 'This document',
    answers: success('json'),
    handle: ({ open }) => open.openApi,
  }),
  readRoute('GET /v1/version', {
    summary: 'Version',
    answers: 'text',
    handle: async ({ services }) => text(services.version),
  }),
  readRoute('GET /v1/usage', {
    isOfProject: true,
    summary: "The project's records, collections and bytes",
    answers: 'UsageResponse',
    handle: (request) => request.shared('usage', () => usageReply(request)),
  }),
];

export const METRICS_ROUTE = serviceRoute({
  path: '/metrics',
  scope: 'metrics',
  summary: 'Metrics for Prometheus',
  answers: success('text'),
  handle: ({ open }) => open.metrics.get(),
});

async function usageReply({ caller: { project }, services, envelope }: HandlerRequest): Promise<Reply> {
  const [collections, held] = await Promise.all([
    services.backend.list(project, envelope),
    services.backend.heldBytes(project, envelope),
  ]);
  const limit = limitsOf(services.config.limits, project);
  const sum = (field: 'records' | 'logBytes' | 'snapshotBytes'): number =>
    collections.reduce((total, collection) => total + collection[field], 0);
  const [logBytes, snapshotBytes] = [sum('logBytes'), sum('snapshotBytes')];
  return json<UsageResponse>({
    records: sum('records'),
    collections: collections.length,
    storage: { event_log_bytes: logBytes, snapshot_bytes: snapshotBytes, total_bytes: logBytes + snapshotBytes },
    bytes: { ...held, log: logBytes, total: totalHeld(held) + logBytes, limit: limit.bytes },
  });
}

/** Metrics without a key: at an address of its own, or on loopback if configured so. */
export const OPEN_METRICS_ROUTE = serviceRoute({ ...METRICS_ROUTE, scope: null });

/** `document`: the OpenAPI document. */
export const openAnswers = (
  backend: Backend,
  { version, document }: { readonly version: string; readonly document: object },
  metrics: Metrics,
  clock: Clock,
): OpenAnswers => ({
  health: new SharedAnswer(() => healthReply(backend, version), HEALTH_KEPT_MS, clock),
  metrics: new SharedAnswer(() => metricsReply(backend, metrics), METRICS_KEPT_MS, clock, METRICS_WAITING_MAX),
  openApi: inBytes(json(document)),
});

async function healthReply(backend: Backend, version: string): Promise<Reply> {
  const { shards, collections, records, problem, impairment, damages } = await backend.health().catch(unhealthy);
  const reason = problem ?? impairment ?? (damages.length === 0 ? undefined : DAMAGE);
  const damaged = damages.map((damage) => ({
    collection_id: damage.collectionId,
    part: damage.part,
    reason: damage.reason,
  }));
  const state: HealthResponse = {
    status: reason === undefined ? 'ok' : 'degraded',
    ...{ mode: backend.mode, version, shard_count: shards, collections, records },
    ...(reason === undefined ? {} : { reason }),
    ...(damaged.length === 0 ? {} : { damaged }),
  };
  // 200 for an impaired service, which still serves: a load balancer should keep it.
  return problem === undefined ? json(state) : { ...json(state, UNAVAILABLE), headers: [RETRY_AFTER] };
}

function unhealthy(error: unknown): Health {
  const problem = error instanceof VouchError ? error.message : 'the state of the cluster could not be read';
  return { shards: 0, collections: 0, records: 0, problem, impairment: undefined, damages: [] };
}

async function metricsReply(backend: Backend, metrics: Metrics): Promise<Reply> {
  const [own, shards] = await Promise.all([metrics.texts(), backend.shardMetrics()]);
  return inBytes(text(joinMetricTexts([own, ...shards]), PROMETHEUS_TEXT));
}
