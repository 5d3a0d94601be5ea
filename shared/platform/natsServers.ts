import { DEFAULT_NATS_URL, parseNatsUrl } from '../nats/natsAddress.js';
import type { ClusterConnection } from '../nats/natsConnection.js';
import { askServerInfo } from '../nats/serverInfo.js';
import type { NatsServerState } from './platform.js';

const DEFAULT_PORT = 4_222;

/**
 * The servers at the configured addresses, and those that the connected server announces, each name once. Each is asked at its
 * port for the line that every client receives before its login.
 */
export async function natsServers(
  { nc, connected }: ClusterConnection,
  url: string | null,
  timeoutMs: number,
): Promise<NatsServerState[]> {
  const here = connected ? nc.getServer() : undefined;
  const addresses = [...new Set([...parseNatsUrl(url ?? DEFAULT_NATS_URL).servers, ...(nc.info?.connect_urls ?? [])])];
  const answers = await Promise.all(addresses.map((address) => stateOf(address, timeoutMs)));
  const states = new Map<string, NatsServerState>();
  for (const state of answers) {
    const key = state.name ?? state.url;
    const isHere = state.url === here || (here !== undefined && state.name === nc.info?.server_name);
    if (!states.has(key)) states.set(key, { ...state, connected: isHere });
  }
  return [...states.values()].sort((a, b) => ((a.name ?? a.url) < (b.name ?? b.url) ? -1 : 1));
}

async function stateOf(address: string, timeoutMs: number): Promise<Omit<NatsServerState, 'connected'>> {
  const { hostname, port } = new URL(`nats://${address}`);
  const info = await askServerInfo(hostname.replace(/^\[|\]$/g, ''), Number(port) || DEFAULT_PORT, timeoutMs);
  return { name: info?.server_name ?? null, url: address, version: info?.version ?? null };
}
