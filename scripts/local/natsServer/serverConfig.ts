/** The configuration file of a nats-server that runs for Vouch. */
import { bracketed } from '../port.js';
import { type NatsUsers, routesBlock, usersBlock } from './users.js';

export interface ServerSettings {
  /** Unique in its cluster. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** JetStream's folder, which only this server uses. */
  readonly storeDir: string;
  /** Largest number of bytes of its streams. */
  readonly storeBytes: number;
  readonly pidFile: string;
  /** Undefined: standard error. */
  readonly logFile: string | undefined;
  /** Its status pages (`/jsz`, `/varz`), which need no login but have a secret path. Undefined: no pages. */
  readonly monitor?: { readonly port: number; readonly path: string } | undefined;
  /** The only accepted users; undefined: every client is accepted. */
  readonly users?: NatsUsers | undefined;
  readonly cluster?: {
    readonly name: string;
    readonly host: string;
    readonly port: number;
    /** `host:port` of the cluster ports of the other servers. */
    readonly routes: readonly string[];
  };
}

/** One commit is one message. */
const PAYLOAD_BYTES = 16 * 1024 * 1024;
/** Largest number of bytes that may wait for a slow client before it is disconnected: several of the largest messages. */
const PENDING_BYTES = 8 * PAYLOAD_BYTES;
const LOG_BYTES = 16 * 1024 * 1024;

export function serverConfig(settings: ServerSettings): string {
  const { name, host, port, storeDir, storeBytes, pidFile, logFile, monitor, users, cluster } = settings;
  return `${[
    '# Written by Vouch at every start; changes are lost.',
    `server_name: ${quote(name)}`,
    `host: ${quote(host)}`,
    `port: ${port}`,
    ...(monitor
      ? [`http: ${quote(`${bracketed(host)}:${monitor.port}`)}`, `http_base_path: ${quote(monitor.path)}`]
      : []),
    `max_payload: ${PAYLOAD_BYTES}`,
    `max_pending: ${PENDING_BYTES}`,
    `pid_file: ${quote(pidFile)}`,
    ...(logFile === undefined ? [] : [`log_file: ${quote(logFile)}`, `logfile_size_limit: ${LOG_BYTES}`]),
    'jetstream {',
    `  store_dir: ${quote(storeDir)}`,
    `  max_file_store: ${storeBytes}`,
    // A write is answered only when it is on the disk, so that it survives a power cut.
    '  sync_interval: always',
    '}',
    // The tag by which the streams of the vault's seals are placed, one on each server.
    ...(cluster ? [`server_tags: [${quote(name)}]`, ...clusterBlock(cluster, users)] : []),
    ...(users ? usersBlock(users) : []),
  ].join('\n')}\n`;
}

function clusterBlock(
  { name, host, port, routes }: NonNullable<ServerSettings['cluster']>,
  users: NatsUsers | undefined,
): string[] {
  const open = [`routes: [${routes.map((route) => quote(`nats://${route}`)).join(', ')}]`];
  return [
    'cluster {',
    `  name: ${quote(name)}`,
    `  host: ${quote(host)}`,
    `  port: ${port}`,
    ...(users ? routesBlock(users, routes) : open).map((line) => `  ${line}`),
    // Clients know all servers from VOUCH_NATS_URL; advertised addresses would bypass a proxy.
    '  no_advertise: true',
    '}',
  ];
}

/** A string of the file; JSON's escapes that can occur here are valid there too. */
const quote = (text: string): string => JSON.stringify(text);
