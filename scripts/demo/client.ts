/** The calls of the API that the demo makes. Anything but a success throws. */
import { Agent, request } from 'node:http';
import type { CreateCollectionResponse, ListCollectionsResponse } from '../../coordinator/contract/collections.js';
import type { BatchInsertResponse, InsertResponse, RecordResponse } from '../../coordinator/contract/records.js';
import type { MultiSearchResponse, SearchResponse } from '../../coordinator/contract/search.js';

export interface Label {
  readonly label: number;
}

export class DemoClient {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(
    private readonly url: string,
    private readonly key: string,
    private readonly signal: AbortSignal,
  ) {}

  create(name: string, dimension: number): Promise<CreateCollectionResponse> {
    return this.#call('POST', '/v1/namespaces', { name, dimension, metric: 'squared_l2' });
  }

  collections(): Promise<ListCollectionsResponse> {
    return this.#call('GET', '/v1/namespaces');
  }

  insertBatch(collection: string, batch: (readonly number[])[], metadata: Label[]): Promise<BatchInsertResponse> {
    return this.#call('POST', '/v1/vectors/batch-insert', { collection, batch, metadata });
  }

  /** `requestId`: 32 hex characters; the same one again inserts nothing. */
  insert(collection: string, values: readonly number[], label: Label, requestId: string): Promise<InsertResponse> {
    const metadata = [...Buffer.from(JSON.stringify(label))];
    return this.#call('POST', '/v1/records', { collection, values, metadata, request_id: requestId });
  }

  record(collection: string, id: number): Promise<RecordResponse> {
    return this.#call('GET', `/v1/records/${id}?collection=${collection}`);
  }

  search(collection: string, query: readonly number[], k: number): Promise<SearchResponse> {
    return this.#call('POST', '/v1/search', { collection, query, k });
  }

  searchMulti(collections: readonly string[], query: readonly number[], k: number): Promise<MultiSearchResponse> {
    return this.#call('POST', '/v1/search/multi', { collections, query, k });
  }

  /** An open connection would hold up the coordinator's stop. */
  close(): void {
    this.#agent.destroy();
  }

  #call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    return new Promise((resolve, reject) => {
      const sent = request(
        this.url + path,
        { method, headers, agent: this.#agent, signal: this.signal },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () => {
            const text = Buffer.concat(chunks).toString();
            if (response.statusCode === 200) resolve(JSON.parse(text) as T);
            else reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`));
          });
        },
      );
      sent.once('error', reject);
      sent.end(body && JSON.stringify(body));
    });
  }
}
