import { samplesOf } from '../scripts/local/clusterView/watch/figures.js';
import { requestBytes } from './httpLoad.js';

/** A client of the measured service: calls that prepare a measurement, and requests as ready bytes. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  get address(): { readonly host: string; readonly port: number } {
    const { hostname, port } = new URL(this.url);
    return { host: hostname, port: Number(port) };
  }

  /** This client for a new URL of the service. */
  at(url: string): Client {
    return new Client(url, this.key);
  }

  /** A POST of the body as JSON. */
  request(path: string, body: unknown): Buffer {
    return this.requestText(path, JSON.stringify(body));
  }

  /** A POST of a ready JSON text. */
  requestText(path: string, body: string): Buffer {
    return requestBytes(path, this.key, body);
  }

  async createCollection(name: string, dimension: number): Promise<void> {
    await this.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' });
  }

  async insertBatch(collection: string, batch: readonly (readonly number[])[]): Promise<void> {
    await this.post('/v1/vectors/batch-insert', { collection, batch });
  }

  /** Throws an Error with the answer if it is not a success. */
  post(path: string, body: unknown): Promise<unknown> {
    return this.#fetch(path, { method: 'POST', body: JSON.stringify(body) });
  }

  /** Throws like `post`. */
  get(path: string): Promise<unknown> {
    return this.#fetch(path, {});
  }

  /** Returns the sum of all samples of a metric. Throws like `post`. */
  async metric(name: string): Promise<number> {
    const samples = samplesOf(await this.#text('/metrics', {}), new Set([name]));
    return samples.reduce((sum, { value }) => sum + value, 0);
  }

  async #fetch(path: string, request: RequestInit): Promise<unknown> {
    return JSON.parse(await this.#text(path, request));
  }

  async #text(path: string, request: RequestInit): Promise<string> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const response = await fetch(this.url + path, { ...request, headers });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return text;
  }
}
