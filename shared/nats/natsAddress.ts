/** Parses VOUCH_NATS_URL: `nats://user:password@host:port`, several separated by commas. */

interface NatsAddress {
  /** `host:port` of each server. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly tls: boolean;
}

export const DEFAULT_NATS_URL = 'nats://127.0.0.1:4222';

const SERVER = /^(?:(nats|tls):\/\/)?(?:([^@]*)@)?([^@]+?)\/?$/;

/** Parses the addresses. The credentials come from the first address with some: the servers of a cluster share them. */
export function parseNatsUrl(url: string): NatsAddress {
  const parts = url.split(',').map((address) => SERVER.exec(address.trim()));
  const known = parts.filter((part) => part !== null);
  const credentials = known.find((part) => part[2] !== undefined)?.[2];
  return {
    servers: known.map((part) => part[3]!),
    tls: known.some((part) => part[1] === 'tls'),
    ...(credentials === undefined ? {} : parseCredentials(credentials)),
  };
}

function parseCredentials(text: string): { user: string; pass: string } | { token: string } {
  const colon = text.indexOf(':');
  if (colon < 0) return { token: decodeURIComponent(text) };
  return { user: decodeURIComponent(text.slice(0, colon)), pass: decodeURIComponent(text.slice(colon + 1)) };
}
