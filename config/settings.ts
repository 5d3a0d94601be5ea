/** Every setting by its path in the configuration: its environment variable, and the description of its values. */
import typia from 'typia';
import type { Config } from './config.js';

/** Paths of the leaves of a configuration, and of parts that may be null or `off` as a whole. */
export type SettingPath =
  | `http.${keyof Config['http']}`
  | `nats.${keyof Config['nats']}`
  | `limits.${keyof Config['limits']}`
  | `snapshots.${keyof Config['snapshots']}`
  | `placement.${keyof Config['placement']}`
  | `followers.${keyof Config['followers']}`
  | `serviceLog.${keyof Config['serviceLog']}`
  | Exclude<keyof Config, 'http' | 'nats' | 'limits' | 'snapshots' | 'placement' | 'followers' | 'serviceLog'>;

export interface Setting {
  readonly variable: string;
  /** Completes the sentence "allowed is …". */
  readonly allowed: string;
  /** Reads the variable's text; undefined where it cannot be a value. The type is checked later. */
  readonly read: (text: string) => unknown;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The bounds of the settings, which only the type `Config` declares. */
const { schema: ROOT, components } = typia.json.schema<Config>();

/** The schema of the value at a path. */
const schemaAt = (path: string): Schema =>
  path.split('.').reduce<Schema>((part, key) => resolved(resolved(part).properties![key]!), ROOT as Schema);

const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (components.schemas![schema.$ref.split('/').at(-1)!] as Schema);

const readWhole = (raw: string): unknown => (/^\d{1,15}$/.test(raw) ? Number(raw) : undefined);

/** A whole number or a flag. `note` follows the description. */
function scalar(path: SettingPath, variable: string, note = ''): Setting {
  const { type, minimum, maximum } = schemaAt(path);
  if (type === 'boolean') {
    const values: Readonly<Record<string, boolean>> = { true: true, false: false };
    return { variable, allowed: 'true or false', read: (raw) => values[raw] };
  }
  const range = maximum === undefined ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`;
  return { variable, allowed: `a whole number${range}${note}`, read: readWhole };
}

const text = (variable: string, allowed: string): Setting => ({ variable, allowed, read: (raw) => raw });
const json = (variable: string, allowed: string): Setting => ({ variable, allowed, read: readJson });

/** Reads `host:port`, an IPv6 address in brackets; `off` is null. */
function readAddress(raw: string): unknown {
  if (raw === 'off') return null;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(raw);
  return match ? { host: match[1] ?? match[2], port: Number(match[3]) } : undefined;
}

function readJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

const { minimum, maximum } = schemaAt('followers.count');
const FOLLOWERS = `${minimum} to ${maximum}`;

export const SETTINGS: Readonly<Record<SettingPath, Setting>> = {
  mode: text('VOUCH_MODE', 'cluster or standalone'),
  'http.host': text('VOUCH_HOST', 'a host name or an address'),
  'http.port': scalar('http.port', 'VOUCH_PORT', ' (0: any free port)'),
  'http.sharePort': scalar('http.sharePort', 'VOUCH_SHARE_PORT'),
  'http.engine': text('VOUCH_HTTP_ENGINE', 'auto, uws or node'),
  'http.tlsCert': text('VOUCH_TLS_CERT', 'the path of a PEM file with a certificate and those that sign it'),
  'http.tlsKey': text('VOUCH_TLS_KEY', 'the path of a PEM file with the key of that certificate'),
  'http.insecure': scalar('http.insecure', 'VOUCH_INSECURE_HTTP'),
  'http.corsOrigins': {
    variable: 'VOUCH_CORS_ORIGINS',
    allowed: 'origins such as https://app.example.com, several separated by commas, or *',
    read: (raw) => raw.split(',').map((origin) => origin.trim()),
  },
  metrics: {
    variable: 'VOUCH_METRICS',
    allowed: 'host:port (in a file {"host", "port"}), or off (in a file null) to serve them beside the API',
    read: readAddress,
  },
  metricsOpen: scalar('metricsOpen', 'VOUCH_METRICS_OPEN'),
  dataDir: text('VOUCH_DATA_DIR', 'the path of a folder'),
  masterKeyFile: text('VOUCH_MASTER_KEY_FILE', 'the path of a file (not set: master.key in the data folder)'),
  signingKeyFile: text('VOUCH_SIGNING_KEY_FILE', 'the path of a file (not set: signing.key in the data folder)'),
  'serviceLog.keyFile': text('VOUCH_LOG_KEY_FILE', 'the path of a file (not set: log.key in the data folder)'),
  'serviceLog.origin': text(
    'VOUCH_LOG_ORIGIN',
    'a name without blanks and +, such as vouch.example.com/log (not set: made of the key)',
  ),
  'serviceLog.everyMs': scalar('serviceLog.everyMs', 'VOUCH_LOG_EVERY_MS'),
  'serviceLog.witnesses': text('VOUCH_WITNESSES', 'the path of a file with a policy: its witnesses and their quorum'),
  shards: scalar('shards', 'VOUCH_SHARDS'),
  searchThreads: {
    variable: 'VOUCH_SEARCH_THREADS',
    allowed: 'auto, or a whole number from 0 to 64',
    read: (raw) => (raw === 'auto' ? raw : readWhole(raw)),
  },
  'nats.url': text('VOUCH_NATS_URL', 'nats://host:port, several separated by commas'),
  'nats.creds': text('VOUCH_NATS_CREDS', 'the path of a .creds file'),
  'nats.nkey': text('VOUCH_NATS_NKEY', 'the path of a file with the seed of an nkey'),
  'nats.ca': text('VOUCH_NATS_CA', 'the path of a PEM file with the certificates of authorities'),
  'nats.cert': text('VOUCH_NATS_CERT', 'the path of a PEM file with the certificate of this client'),
  'nats.key': text('VOUCH_NATS_KEY', 'the path of a PEM file with the key of that certificate'),
  'nats.replicas': scalar('nats.replicas', 'VOUCH_REPLICAS'),
  'nats.logStreams': scalar('nats.logStreams', 'VOUCH_LOG_STREAMS'),
  logLevel: text('VOUCH_LOG_LEVEL', 'trace, debug, info, warn, error, fatal or silent'),
  'limits.bodyBytes': scalar('limits.bodyBytes', 'VOUCH_BODY_BYTES'),
  'limits.metadataBytes': scalar('limits.metadataBytes', 'VOUCH_METADATA_BYTES'),
  'limits.textBytes': scalar('limits.textBytes', 'VOUCH_TEXT_BYTES'),
  'limits.payloadBytes': scalar('limits.payloadBytes', 'VOUCH_PAYLOAD_BYTES'),
  'limits.batchVectors': scalar('limits.batchVectors', 'VOUCH_BATCH_VECTORS'),
  'limits.collectionsPerProject': scalar('limits.collectionsPerProject', 'VOUCH_MAX_COLLECTIONS'),
  'limits.aliasesPerProject': scalar('limits.aliasesPerProject', 'VOUCH_MAX_ALIASES'),
  'limits.maxRecords': scalar('limits.maxRecords', 'VOUCH_MAX_RECORDS'),
  'limits.maxBytes': scalar('limits.maxBytes', 'VOUCH_MAX_BYTES', ' (bytes of a project)'),
  'limits.maxBytesOfProjects': json('VOUCH_MAX_BYTES_OF_PROJECTS', '{"project": bytes, …}'),
  'limits.unknownShreds': scalar('limits.unknownShreds', 'VOUCH_MAX_UNKNOWN_SHREDS'),
  'limits.deadlineMs': scalar('limits.deadlineMs', 'VOUCH_DEADLINE_MS'),
  'limits.rebuildMs': scalar(
    'limits.rebuildMs',
    'VOUCH_REBUILD_MS',
    ' (milliseconds for POST /v1/index/rebuild and /v1/erasures)',
  ),
  'limits.dedupWindow': scalar('limits.dedupWindow', 'VOUCH_DEDUP_WINDOW'),
  'limits.asOfCacheBytes': scalar('limits.asOfCacheBytes', 'VOUCH_AS_OF_CACHE_BYTES'),
  'limits.memoryBytes': scalar('limits.memoryBytes', 'VOUCH_MEMORY_BYTES', ' (0: the memory of the system)'),
  'limits.storeBytes': scalar('limits.storeBytes', 'VOUCH_STORE_BYTES', ' (0: as the store says)'),
  'limits.inFlight': scalar('limits.inFlight', 'VOUCH_IN_FLIGHT'),
  'limits.maxQueueWaitMs': scalar(
    'limits.maxQueueWaitMs',
    'VOUCH_MAX_QUEUE_WAIT_MS',
    ' (milliseconds that a request may wait for its turn)',
  ),
  rateLimits: {
    variable: 'VOUCH_RATE_LIMITS',
    allowed:
      'off, or {"default": {"total": {"perMinute": > 0, "burst": >= 1}, "read": …, "write": …} or "off", "projects": {name: the same}}',
    read: (raw) => (raw === 'off' ? raw : readJson(raw)),
  },
  ann: scalar('ann', 'VOUCH_ANN'),
  'snapshots.everyBytes': scalar('snapshots.everyBytes', 'VOUCH_SNAPSHOT_EVERY_BYTES'),
  'snapshots.keep': scalar('snapshots.keep', 'VOUCH_SNAPSHOT_KEEP'),
  'placement.heartbeatMs': scalar('placement.heartbeatMs', 'VOUCH_HEARTBEAT_MS'),
  'placement.leaseMs': scalar('placement.leaseMs', 'VOUCH_LEASE_MS'),
  'placement.failoverMs': scalar('placement.failoverMs', 'VOUCH_FAILOVER_MS'),
  'placement.drainTimeoutMs': scalar('placement.drainTimeoutMs', 'VOUCH_DRAIN_TIMEOUT_MS'),
  'followers.count': scalar('followers.count', 'VOUCH_FOLLOWERS'),
  'followers.projects': json('VOUCH_FOLLOWERS_OF_PROJECTS', `{"project": ${FOLLOWERS}, …}`),
  'followers.collections': json('VOUCH_FOLLOWERS_OF_COLLECTIONS', `{"project/collection": ${FOLLOWERS}, …}`),
  'followers.staleMs': scalar('followers.staleMs', 'VOUCH_FOLLOWERS_STALE_MS'),
};

/** The setting that a path of the configuration belongs to: its own, or that of the part it lies in. */
export function settingAt(path: string): { readonly path: SettingPath; readonly setting: Setting } | undefined {
  for (const [at, setting] of Object.entries(SETTINGS))
    if (path === at || path.startsWith(`${at}.`)) return { path: at as SettingPath, setting };
  return undefined;
}
