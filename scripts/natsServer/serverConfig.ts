/** The configuration file of a nats-server that runs for Vouch. */
import { isAtLeast } from './binary.js';

export interface ServerSettings {
  /** One of a kind in its cluster. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Where JetStream keeps everything; belongs to one server. */
  readonly storeDir: string;
  readonly pidFile: string;
  /** Undefined: standard error. */
  readonly logFile: string | undefined;
  /** Of the server that will read the file. */
  readonly version: string;
  /** Where it tells how it is over HTTP (`/jsz`, `/varz`); undefined: nowhere. */
  readonly monitorPort?: number | undefined;
  readonly cluster?: {
    readonly name: string;
    readonly host: string;
    readonly port: number;
    /** `host:port` of the others' cluster ports. */
    readonly routes: readonly string[];
  };
}

/** One commit is one message. */
const PAYLOAD_BYTES = 16 * 1024 * 1024;
/** What may wait for a client that reads slowly before it is cut off: several of the largest messages. */
const PENDING_BYTES = 8 * PAYLOAD_BYTES;
const LOG_BYTES = 16 * 1024 * 1024;
/** Servers before it write to the disk when the system does, and cannot be told otherwise. */
const SYNCS_ALWAYS_SINCE = '2.10.0';

export function serverConfig(settings: ServerSettings): string {
  const { name, host, port, storeDir, pidFile, logFile, version, monitorPort, cluster } = settings;
  const jetstream = [
    `  store_dir: ${quote(storeDir)}`,
    // A write is answered when it is on the disk, so that it survives a power cut as well.
    ...(isAtLeast(version, SYNCS_ALWAYS_SINCE) ? ['  sync_interval: always'] : []),
  ];
  return `${[
    '# Written by Vouch at every start; changes are lost.',
    `server_name: ${quote(name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    ...(monitorPort === undefined
      ? []
      : [`http: ${quote(`${host.includes(':') ? `[${host}]` : host}:${monitorPort}`)}`]),
    `max_payload: ${PAYLOAD_BYTES}`,
    `max_pending: ${PENDING_BYTES}`,
    `pid_file: ${quote(pidFile)}`,
    ...(logFile === undefined ? [] : [`log_file: ${quote(logFile)}`, `logfile_size_limit: ${LOG_BYTES}`]),
    'jetstream {',
    ...jetstream,
    '}',
    // The vault's seals are placed by it: a stream on each server.
    ...(cluster ? [`server_tags: [${quote(name)}]`, ...clusterBlock(cluster)] : []),
  ].join('\n')}\n`;
}

function clusterBlock({ name, host, port, routes }: NonNullable<ServerSettings['cluster']>): string[] {
  return [
    'cluster {',
    `  name: ${quote(name)}`,
    `  host: ${quote(host)}`,
    `  port: ${port}`,
    `  routes: [${routes.map((route) => quote(`nats://${route}`)).join(', ')}]`,
    // Clients know all servers by VOUCH_NATS_URL; told of others, they would find a way past a proxy between.
    '  no_advertise: true',
    '}',
  ];
}

/** The file's strings know the escapes of JSON that can occur here: `\\\\` and `\\"`. */
const quote = (text: string): string => JSON.stringify(text);
