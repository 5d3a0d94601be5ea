/** `fetch` over the simulated network, as far as the product uses it: to ask witnesses. */
import { networkIn } from '../network/network.js';
import type { Party } from '../world/party.js';
import { currentWorld, type World } from '../world/world.js';

/** Request that arrives at a server. */
export interface Fetched {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

export interface FetchReply {
  readonly status: number;
  readonly body: string;
}

interface FetchServer {
  readonly party: Party;
  answer(request: Fetched): Promise<FetchReply>;
}

/** Host and port → listening server. */
const servers = new WeakMap<World, Map<string, FetchServer>>();

export function fetchServersIn(world: World): Map<string, FetchServer> {
  let found = servers.get(world);
  if (found === undefined) {
    found = new Map();
    servers.set(world, found);
  }
  return found;
}

interface Options {
  readonly method?: string;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

const REFUSED_MS = 1;

const failed = (code: string): TypeError =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });

/** Over a cut connection no answer arrives before the caller aborts. */
export function simulatedFetch(url: string, { method = 'GET', body = '', signal }: Options = {}): Promise<Response> {
  const world = currentWorld()!;
  const network = networkIn(world);
  const { party: client } = world;
  const { host, pathname } = new URL(url);
  const server = fetchServersIn(world).get(host);
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    if (server === undefined || !server.party.alive) {
      world.at(client, REFUSED_MS, 'refused', () => reject(failed('ECONNREFUSED')));
      return;
    }
    const { party } = server;
    party.onEnd(() => world.at(client, REFUSED_MS, 'broken', () => reject(failed('ECONNRESET'))));
    if (!network.isWhole(client.machine, party.machine)) return;
    world.at(party, network.delayMs(client.machine, party.machine), 'fetch', async () => {
      const reply = await server.answer({ method, path: pathname, body });
      if (network.isCut(party.machine, client.machine)) return;
      world.at(client, network.delayMs(party.machine, client.machine), 'fetched', () => resolve(responseOf(reply)));
    });
  });
}

/** The body is complete at once: a stream of Node would take turns of its own. */
function responseOf({ status, body }: FetchReply): Response {
  const chunks = [Buffer.from(body)];
  const reader = {
    read: async () => ({ value: chunks.shift() }),
    cancel: async () => undefined,
  };
  const ok = status >= 200 && status < 300;
  return { status, ok, headers: new Headers(), body: { getReader: () => reader } } as unknown as Response;
}
