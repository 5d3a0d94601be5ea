/** One HTTP exchange of a simulated client, with the interface of the soak's clients. */
import type { AskedReads } from '../../soak/access/askedReads.js';
import type { Asking, Exchange as Exchanged } from '../../soak/clients/httpCall.js';
import type { Network } from '../network/network.js';
import type { HttpAnswer, HttpPorts, SentRequest } from './engine.js';

/** Longest time until a broken connection is noticed, in milliseconds. */
const NOTICED_MS = 3;

/** Never throws. `reads` receives each request that reads, and its answer. */
export const exchangeOver =
  (network: Network, ports: HttpPorts, reads?: AskedReads) =>
  (asking: Asking): Promise<Exchanged> =>
    new Promise((resolve) => new SimulatedExchange({ network, ports, reads }, asking, resolve).start());

interface Way {
  readonly network: Network;
  readonly ports: HttpPorts;
  readonly reads: AskedReads | undefined;
}

class SimulatedExchange {
  #isOver = false;
  #leave: (() => void) | undefined;
  #onAnswer: ((status: number, body: Buffer) => void) | undefined;
  readonly #client;

  constructor(
    private readonly way: Way,
    private readonly asking: Asking,
    private readonly resolve: (exchange: Exchanged) => void,
  ) {
    this.#client = way.network.world.party;
  }

  start(): void {
    const { asking } = this;
    const { network, ports, reads } = this.way;
    const { world } = network;
    const client = this.#client;
    const impatience = world.at(client, asking.patienceMs, 'impatience', () => {
      this.#end({ status: undefined, why: `no answer within ${asking.patienceMs} ms` });
      this.#leave?.();
    });
    const end = this.#end;
    this.#end = (exchange) => {
      impatience.run = undefined;
      end(exchange);
    };
    const { hostname, port } = new URL(asking.url);
    const address = `${hostname}:${port}`;
    const party = ports.partyAt(address);
    if (party === undefined) {
      world.at(client, 1, 'refused', () => this.#end({ status: undefined, why: 'connect ECONNREFUSED' }));
      return;
    }
    party.onEnd(() => this.#broken());
    const request = requestOf(asking);
    const { requestId } = asking;
    this.#onAnswer = requestId === undefined ? undefined : reads?.sent(requestId, request, world.nowMs);
    if (network.isCut(client.machine, party.machine)) return;
    world.at(party, network.delayMs(client.machine, party.machine), 'request', () => {
      if (this.#isOver) return;
      const leave = ports.take(address, request, {
        answered: (answer) => this.#answered(answer, party.machine),
        broken: () => this.#broken(),
      });
      this.#leave = () => world.at(party, network.delayMs(client.machine, party.machine), 'client gone', leave);
    });
  }

  #answered(answer: HttpAnswer, from: string): void {
    const { network } = this.way;
    const client = this.#client;
    if (network.isCut(from, client.machine)) return;
    network.world.at(client, network.delayMs(from, client.machine), 'answer', () => {
      if (!this.#isOver) this.#onAnswer?.(answer.status, answer.body);
      this.#end({ status: answer.status, body: parsed(answer.body) });
    });
  }

  #broken(): void {
    if (this.#isOver) return;
    const { world } = this.way.network;
    world.at(this.#client, NOTICED_MS * world.random('http').next(), 'broken', () =>
      this.#end({ status: undefined, why: 'the answer broke off' }),
    );
  }

  #end = (exchange: Exchanged): void => {
    if (this.#isOver) return;
    this.#isOver = true;
    this.resolve(exchange);
  };
}

function requestOf({ method, url, key, body, type = typeOf(body), idempotencyKey, requestId }: Asking): SentRequest {
  const { pathname, search } = new URL(url);
  const bytes = body === undefined ? Buffer.alloc(0) : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return {
    method,
    path: pathname,
    query: search === '' ? undefined : search.slice(1),
    headers: {
      ...{ host: 'simulated', authorization: `Bearer ${key}`, 'content-type': type },
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
      ...(requestId && { 'x-request-id': requestId }),
      'content-length': String(bytes.length),
    },
    body: bytes,
  };
}

const typeOf = (body: object | undefined): string =>
  Buffer.isBuffer(body) ? 'application/octet-stream' : 'application/json';

/** The parsed body; a body that is not JSON stays text. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return body;
  }
}
