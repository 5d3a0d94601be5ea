/** The HTTP edge, put together: what stands between a socket and the backend. */
import type { Config } from '../config/config.js';
import { type Clock, systemEntropy } from '../shared/clock.js';
import { toHex } from '../shared/hash.js';
import type { Logger } from '../shared/logger.js';
import { BUCKETS, type Platform } from '../shared/platform.js';
import { whenAvailable } from '../shared/startUp.js';
import { Authenticator } from './auth/authenticate.js';
import { Keyring } from './auth/keyring.js';
import type { Backend } from './backend.js';
import { BodyPool } from './body/bodyPool.js';
import { openApi } from './contract/openapi.js';
import type { Services } from './handlers/route.js';
import { API_ROUTES, METRICS_ROUTE } from './handlers/routes.js';
import { Admission } from './http/admission.js';
import { type HttpServer, type ServerParts, startServer } from './http/server.js';
import { FailedAttempts } from './limits/failedAttempts.js';
import { InFlight } from './limits/inFlight.js';
import type { Limiter } from './limits/limiter.js';
import { EdgeMetrics } from './metrics.js';

export interface EdgeOptions {
  readonly config: Config;
  readonly backend: Backend;
  readonly limiter: Limiter;
  /** Only its stores of keys are used here. */
  readonly platform: Pick<Platform, 'bucket'>;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly version: string;
}

export interface Edge {
  readonly url: string;
  readonly port: number;
  /** Answers what is under way, within the request deadline, and closes every connection. A second call waits for the first. */
  stop(): Promise<void>;
}

/** Bodies of the largest size that may be under way at once, and the least room there is for bodies. */
const LARGEST_BODIES = 4;
const BODY_ROOM_BYTES = 256 * 1024 * 1024;
const REQUEST_ID_ENTROPY_BYTES = 6;

/** Throws an Error of one line where an address cannot be listened on. */
export async function startEdge(options: EdgeOptions): Promise<Edge> {
  const { config, backend, limiter, platform, logger, clock, version } = options;
  const { limits } = config;
  const bucket = await platform.bucket(BUCKETS.keys);
  const keyring = await whenAvailable('the keys', () => Keyring.open(bucket), { clock, logger });
  const inFlight = new InFlight(limits.inFlight, Math.max(LARGEST_BODIES * limits.bodyBytes, BODY_ROOM_BYTES));
  const bodies = new BodyPool({ ...limits, commitBytes: backend.maxCommitBytes }, limits.queueMs, clock, logger);
  const metrics = new EdgeMetrics(inFlight, bodies);
  const routes = config.metrics === null ? [...API_ROUTES, METRICS_ROUTE] : API_ROUTES;
  const services: Services = {
    backend,
    config,
    clock,
    logger,
    version,
    metrics,
    keys: { bucket, keyring, clock, entropy: systemEntropy },
    signers: await platform.bucket(BUCKETS.signers),
    openApi: JSON.stringify(openApi([...API_ROUTES, METRICS_ROUTE], version)),
  };
  const parts: ServerParts = {
    routes,
    services,
    admission: new Admission(new Authenticator(keyring, new FailedAttempts(clock), clock), limiter),
    inFlight,
    bodies,
    metrics,
    clock,
    logger,
    freshRequestId: requestIds(),
    bodyBytesMax: limits.bodyBytes,
    deadlineMs: limits.deadlineMs,
    queueMs: limits.queueMs,
  };

  const servers: HttpServer[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop(limits.deadlineMs)));
    await bodies.close();
    keyring.close();
    metrics.close();
  };
  let closed: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    closed ??= close();
    return closed;
  };
  try {
    const api = await startServer(parts, config.http);
    servers.push(api);
    if (config.metrics !== null) servers.push(await startServer({ ...parts, routes: [METRICS_ROUTE] }, config.metrics));
    return { url: `http://${urlHost(config.http.host)}:${api.port}`, port: api.port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Unique within the cluster: this process's own random beginning, and a count. */
function requestIds(): () => string {
  const prefix = toHex(systemEntropy(REQUEST_ID_ENTROPY_BYTES));
  let count = 0;
  return () => `${prefix}-${(count++).toString(36)}`;
}

/** One that a client on this machine can use: a wildcard is no address to connect to. */
function urlHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
