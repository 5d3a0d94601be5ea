/** Calls of the API. Anything but a success throws. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { RecordResponse } from '../../coordinator/contract/records.js';
import type { MultiSearchResponse } from '../../coordinator/contract/search.js';
import { systemEntropy } from '../../shared/clock.js';
import { retryAfterMs } from '../service/retryAfter.js';
import type { DemoCluster } from './cluster.js';
import type { Deal } from './digits.js';
import type { Stored } from './nearest.js';

export const COLLECTIONS = ['even', 'odd'] as const;

/** The number of neighbours that fit beside one another. */
export const NEIGHBOURS = 5;

const KEY_BYTES = 16;
const ATTEMPTS_MAX = 20;

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

  /** What a busy service puts off is asked again. An insert is done once, since each attempt has the same id. */
  async call<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
    const headers = {
      authorization: `Bearer ${this.key}`,
      'content-type': 'application/json',
      ...(body !== undefined &&
        !('request_id' in body) && { 'idempotency-key': Buffer.from(systemEntropy(KEY_BYTES)).toString('hex') }),
    };
    const options = { method, headers, agent: this.#agent, signal: this.signal };
    for (let left = ATTEMPTS_MAX; ; left--) {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        request(this.url + path, options, resolve)
          .once('error', reject)
          .end(body && JSON.stringify(body));
      });
      const answer = await text(response);
      const { statusCode } = response;
      if (statusCode === 200) return JSON.parse(answer) as T;
      if (statusCode !== 503 || left === 0) throw new Error(`${method} ${path} answered ${statusCode}: ${answer}`);
      await delay(retryAfterMs(response.headers['retry-after']), undefined, { signal: this.signal });
    }
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
