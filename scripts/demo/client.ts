/** Calls of the API. Anything but a success throws. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RecordResponse } from '../../coordinator/contract/records.js';
import type { MultiSearchResponse } from '../../coordinator/contract/search.js';
import type { DemoCluster } from './cluster.js';
import type { Deal } from './digits.js';
import type { Stored } from './nearest.js';

export const COLLECTIONS = ['even', 'odd'] as const;

/** The number of neighbours that fit beside one another. */
export const NEIGHBOURS = 5;

export class DemoClient {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly signal: AbortSignal,
  ) {}

  record(collection: string, id: number): Promise<RecordResponse> {
    return this.call('GET', `/v1/records/${id}?collection=${collection}`);
  }

  /** Searches both collections. */
  searchBoth(query: readonly number[]): Promise<MultiSearchResponse> {
    return this.call('POST', '/v1/search/multi', { collections: COLLECTIONS, query, k: NEIGHBOURS });
  }

  /** Closes the connections, which would delay the coordinator's stop. */
  close(): void {
    this.#agent.destroy();
  }

  async call<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const options = { method, headers, agent: this.#agent, signal: this.signal };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(this.url + path, options, resolve)
        .once('error', reject)
        .end(body && JSON.stringify(body));
    });
    const answer = await text(response);
    if (response.statusCode !== 200) throw new Error(`${method} ${path} answered ${response.statusCode}: ${answer}`);
    return JSON.parse(answer) as T;
  }
}

export interface Tour {
  readonly cluster: DemoCluster;
  readonly client: DemoClient;
  readonly deal: Deal;
}

export interface Loaded {
  readonly stored: readonly Stored[];
  readonly idOfEven: number;
  /** The shard of the collection `even`; the other collection is on another one. */
  readonly shardOfEven: string;
}
