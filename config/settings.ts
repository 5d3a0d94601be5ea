/** Every setting by its path in the configuration: the environment variable that sets it, and what it may be. */
import type { Config } from './config.js';

/** Paths of the leaves of a configuration, and of the parts that are null or `off` as a whole. */
export type SettingPath =
  | `http.${keyof Config['http']}`
  | `nats.${keyof Config['nats']}`
  | `limits.${keyof Config['limits']}`
  | `snapshots.${keyof Config['snapshots']}`
  | `placement.${keyof Config['placement']}`
  | `followers.${keyof Config['followers']}`
  | Exclude<keyof Config, 'http' | 'nats' | 'limits' | 'snapshots' | 'placement' | 'followers'>;

export interface Setting {
  readonly variable: string;
  /** Completes the sentence "allowed is …". */
  readonly allowed: string;
  /** The value of the variable's text, or undefined where the text cannot be one; the type's own check comes later. */
  readonly read: (text: string) => unknown;
}

const text = (variable: string, allowed: string): Setting => ({ variable, allowed, read: (raw) => raw });

const whole = (variable: string, least: number, most: number | undefined, note = ''): Setting => ({
  variable,
  allowed: `a whole number${most === undefined ? `, at least ${least}` : ` from ${least} to ${most}`}${note}`,
  read: (raw) => (/^\d{1,15}$/.test(raw) ? Number(raw) : undefined),
});

const flag = (variable: string): Setting => ({
  variable,
  allowed: 'true or false',
  read: (raw) => (raw === 'true' ? true : raw === 'false' ? false : undefined),
});

/** `host:port`, an IPv6 address in brackets; `off` is null. */
function readAddress(raw: string): unknown {
  if (raw === 'off') return null;
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s[\]]+)):(\d{1,5})$/.exec(raw);
  return match ? { host: match[1] ?? match[2], port: Number(match[3]) } : undefined;
}

const readRates = (raw: string): unknown => (raw === 'off' ? 'off' : readJson(raw));

function readJson(raw: string): unknown {
  try {
    return JSON.parse(raw);
  } catch {
    return undefined;
  }
}

export const SETTINGS: Readonly<Record<SettingPath, Setting>> = {
  mode: text('VOUCH_MODE', 'cluster or standalone'),
  'http.host': text('VOUCH_HOST', 'a host name or an address'),
  'http.port': whole('VOUCH_PORT', 0, 65_535, ' (0: any free port)'),
  'http.sharePort': flag('VOUCH_SHARE_PORT'),
  metrics: {
    variable: 'VOUCH_METRICS',
    allowed: 'host:port (in a file {"host", "port"}), or off (in a file null) to serve them beside the API',
    read: readAddress,
  },
  dataDir: text('VOUCH_DATA_DIR', 'the path of a folder'),
  masterKeyFile: text('VOUCH_MASTER_KEY_FILE', 'the path of a file (not set: master.key in the data folder)'),
  signingKeyFile: text('VOUCH_SIGNING_KEY_FILE', 'the path of a file (not set: signing.key in the data folder)'),
  shards: whole('VOUCH_SHARDS', 1, 64),
  'nats.url': text('VOUCH_NATS_URL', 'nats://host:port, several separated by commas'),
  'nats.replicas': whole('VOUCH_REPLICAS', 1, 5),
  'nats.logStreams': whole('VOUCH_LOG_STREAMS', 1, 256),
  logLevel: text('VOUCH_LOG_LEVEL', 'trace, debug, info, warn, error, fatal or silent'),
  'limits.bodyBytes': whole('VOUCH_BODY_BYTES', 1, undefined),
  'limits.metadataBytes': whole('VOUCH_METADATA_BYTES', 1, undefined),
  'limits.textBytes': whole('VOUCH_TEXT_BYTES', 1, undefined),
  'limits.payloadBytes': whole('VOUCH_PAYLOAD_BYTES', 1, 65_536),
  'limits.batchVectors': whole('VOUCH_BATCH_VECTORS', 1, undefined),
  'limits.collectionsPerProject': whole('VOUCH_MAX_COLLECTIONS', 1, undefined),
  'limits.maxRecords': whole('VOUCH_MAX_RECORDS', 1, undefined),
  'limits.deadlineMs': whole('VOUCH_DEADLINE_MS', 1, undefined),
  'limits.rebuildMs': whole('VOUCH_REBUILD_MS', 1, undefined, ' (milliseconds for POST /v1/index/rebuild)'),
  'limits.dedupWindow': whole('VOUCH_DEDUP_WINDOW', 1, undefined),
  'limits.pastStatesBytes': whole('VOUCH_PAST_STATES_BYTES', 1, undefined),
  'limits.inFlight': whole('VOUCH_IN_FLIGHT', 1, undefined),
  'limits.queueMs': whole('VOUCH_QUEUE_MS', 1, undefined, ' (milliseconds that a request may wait for its turn)'),
  rateLimits: {
    variable: 'VOUCH_RATE_LIMITS',
    allowed:
      'off, or {"default": {"total": {"perMinute": > 0, "burst": >= 1}, "read": …, "write": …} or "off", "projects": {name: the same}}',
    read: readRates,
  },
  ann: flag('VOUCH_ANN'),
  'snapshots.everyBytes': whole('VOUCH_SNAPSHOT_EVERY_BYTES', 1, undefined),
  'snapshots.keep': whole('VOUCH_SNAPSHOT_KEEP', 1, undefined),
  'placement.heartbeatMs': whole('VOUCH_HEARTBEAT_MS', 1, undefined),
  'placement.leaseMs': whole('VOUCH_LEASE_MS', 1, undefined),
  'placement.reassignMs': whole('VOUCH_REASSIGN_MS', 1, undefined),
  'placement.leaveMs': whole('VOUCH_LEAVE_MS', 1, undefined),
  'followers.count': whole('VOUCH_FOLLOWERS', 0, 16),
  'followers.projects': {
    variable: 'VOUCH_FOLLOWERS_OF_PROJECTS',
    allowed: '{"project": 0 to 16, …}',
    read: readJson,
  },
  'followers.collections': {
    variable: 'VOUCH_FOLLOWERS_OF_COLLECTIONS',
    allowed: '{"project/collection": 0 to 16, …}',
    read: readJson,
  },
  'followers.staleMs': whole('VOUCH_FOLLOWERS_STALE_MS', 1, undefined),
};

/** The setting that a path of the configuration belongs to: its own, or that of the part it lies in. */
export function settingAt(path: string): { readonly path: SettingPath; readonly setting: Setting } | undefined {
  for (const [at, setting] of Object.entries(SETTINGS))
    if (path === at || path.startsWith(`${at}.`)) return { path: at as SettingPath, setting };
  return undefined;
}
