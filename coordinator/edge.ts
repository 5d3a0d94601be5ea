/** Builds the HTTP edge: everything between a socket and the backend. */
import type { Config } from '../config/config.js';
import { BUCKETS } from '../shared/bucket/buckets.js';
import type { Clock } from '../shared/clock.js';
import type { Logger } from '../shared/logger.js';
import type { Metrics } from '../shared/metrics/metrics.js';
import type { Platform } from '../shared/platform/platform.js';
import { whenAvailable } from '../shared/process/startUp.js';
import { AccessEntries } from './access/accessEntries.js';
import { Authenticator } from './auth/authenticate.js';
import { Keyring } from './auth/keyring.js';
import { BodyPool, type FindScale } from './body/bodyPool.js';
import type { Backend } from './cluster/clusterBackend.js';
import { openApi } from './contract/openapi.js';
import { isCollectionName } from './contract/values.js';
import { consoleRoutes } from './handlers/console.js';
import { API_ROUTES } from './handlers/routes.js';
import { METRICS_ROUTE, OPEN_METRICS_ROUTE, openAnswers } from './handlers/service.js';
import { SERVICE_LOG_ROUTES } from './handlers/serviceLog.js';
import { Certificate } from './http/certificate.js';
import { EdgeMetrics } from './http/edgeMetrics.js';
import type { HttpEngine } from './http/engine/engine.js';
import { loadEngine } from './http/engine/loadEngine.js';
import { nameOrDefault, type Services } from './http/handlerRequest.js';
import { type HttpServer, startServer } from './http/server.js';
import { SharedReads } from './http/sharedReads.js';
import { FailedAttempts } from './limits/failedAttempts.js';
import { InFlight } from './limits/inFlight.js';
import type { Limiter } from './limits/limiter.js';
import type { ServedLog } from './serviceLog/serviceLog.js';

export interface EdgeOptions {
  readonly config: Config;
  readonly backend: Backend;
  readonly limiter: Limiter;
  readonly serviceLog: ServedLog;
  /** Source of the buckets with keys. */
  readonly platform: Pick<Platform, 'bucket'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly version: string;
  /** Undefined: the engine in the settings. */
  readonly engine?: HttpEngine | undefined;
}

export interface Edge {
  readonly url: string;
  readonly port: number;
  /** Answers the requests in flight, within their deadline, and closes every connection. May be repeated. */
  stop(): Promise<void>;
}

/** Memory for bodies: room for so many of the largest size, and at least so many bytes. */
const LARGEST_BODIES = 4;
const BODY_MEMORY_BYTES = 256 * 1024 * 1024;

/** Throws an Error of one line if it cannot listen on an address. */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { config, backend, limiter, serviceLog, platform, logger, clock, version } = options;
  const { limits } = config;
  const keys = await platform.bucket(BUCKETS.keys);
  const keyring = await whenAvailable('the keys', () => Keyring.open(keys, clock, logger), { clock, logger });
  const inFlight = new InFlight(limits.inFlight, Math.max(LARGEST_BODIES * limits.bodyBytes, BODY_MEMORY_BYTES));
  const bounds = { ...limits, commitBytes: backend.maxCommitBytes };
  const findScale: FindScale = (project, names) =>
    backend.scaleFor(project, names.map(nameOrDefault).filter(isCollectionName));
  const bodies = new BodyPool(bounds, findScale, logger, { maxQueueWaitMs: limits.maxQueueWaitMs, clock });
  const { metrics } = options;
  metrics.gauges(() => ({
    vouch_http_in_flight: inFlight.requests,
    vouch_http_in_flight_body_bytes: inFlight.bodyBytes,
    vouch_bodies_waiting: bodies.waiting,
    vouch_metrics_timestamp_seconds: clock.nowMs() / 1000,
  }));
  const metricsRoute = config.metricsOpen ? OPEN_METRICS_ROUTE : METRICS_ROUTE;
  const routes = config.metrics === null ? [...API_ROUTES, metricsRoute] : API_ROUTES;
  const services: Services = {
    ...{ backend, config, clock, logger, version, keys, keyring, serviceLog, metrics: new EdgeMetrics(metrics) },
    signers: await platform.bucket(BUCKETS.signers),
    open: openAnswers(backend, { version, document: openApi(routes, version) }, metrics, clock),
    sharedReads: new SharedReads(),
    accessEntries: new AccessEntries(backend),
  };
  const authenticator = new Authenticator(keyring, new FailedAttempts(clock));
  const { tlsCert: certFile, tlsKey: keyFile } = config.http;
  const certificate = certFile === '' ? undefined : await Certificate.open({ certFile, keyFile, clock, logger });
  if (certificate !== undefined)
    metrics.gauges(() => ({ vouch_tls_certificate_expires_seconds: certificate.expiresSecs }));
  const engine = options.engine ?? (await loadEngine(config.http.engine, logger));
  const parts = { engine, certificate, services, authenticator, limiter, inFlight, bodies };

  const servers: HttpServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop(limits.deadlineMs)));
    await certificate?.stop();
    await bodies.close();
    await keyring.close();
  };
  let closed: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    closed ??= close();
    return closed;
  };
  try {
    const api = await startServer(
      { ...parts, routes: [...routes, ...SERVICE_LOG_ROUTES, ...(await consoleRoutes())] },
      config.http,
    );
    servers.push(api);
    if (config.metrics !== null)
      servers.push(await startServer({ ...parts, routes: [OPEN_METRICS_ROUTE] }, config.metrics));
    return {
      url: `${certificate === undefined ? 'http' : 'https'}://${urlHost(config.http.host)}:${api.port}`,
      port: api.port,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A host that a client on this machine can connect to, in place of a wildcard. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
