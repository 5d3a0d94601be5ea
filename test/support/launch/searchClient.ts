/** A collection of any dimension, searched with options over HTTP. */
import { expect } from 'chai';
import type { Answer, Client } from './client.js';

export interface Hit {
  readonly id: number;
  readonly score: number;
  readonly decay_factor?: number;
  readonly age_secs?: number;
  readonly graph_distance?: number | null;
}

/** `id` of each hit; `id:hops` if the graph was used. */
export const seen = (hits: readonly Hit[]): string =>
  hits.map(({ id, graph_distance }) => (graph_distance === undefined ? id : `${id}:${graph_distance}`)).join(' ');

interface Rows {
  readonly batch: readonly (readonly number[])[];
  readonly metadata?: readonly (object | null)[];
  readonly texts?: readonly (string | null)[];
}

export class SearchedByHttp {
  private constructor(
    readonly client: Client,
    readonly name: string,
    private readonly dimension: number,
  ) {}

  static async create(client: Client, name = 'c', dimension = 1, index?: string): Promise<SearchedByHttp> {
    const { status, text } = await client.post('/v1/namespaces', { name, dimension, metric: 'squared_l2', index });
    expect(status, text).to.equal(200);
    return new SearchedByHttp(client, name, dimension);
  }

  /** Inserts rows; their ids count from 1. */
  async fill(rows: Rows): Promise<void> {
    await this.#ok(this.client.post('/v1/vectors/batch-insert', { collection: this.name, ...rows }));
  }

  /** Resolves to the record's id. */
  async insert(values: readonly number[], fields: object = {}): Promise<number> {
    return (await this.#ok(this.client.post('/v1/records', { collection: this.name, values, ...fields }))).body.id;
  }

  async patch(id: number, metadata: object): Promise<void> {
    await this.#ok(this.client.patch(`/v1/records/${id}/metadata?collection=${this.name}`, metadata));
  }

  async remove(id: number, path: '/v1/delete' | '/v1/soft-delete' = '/v1/delete'): Promise<void> {
    await this.#ok(this.client.post(path, { collection: this.name, id }));
  }

  /** Adds a node for a record. Resolves to the node's id. */
  async addNode(recordId: number): Promise<number> {
    const node = { collection: this.name, kind: 0, record_id: recordId };
    return (await this.#ok(this.client.post('/v1/graph/node', node))).body.node_id;
  }

  async addEdge(from: number, to: number): Promise<void> {
    await this.#ok(this.client.post('/v1/graph/edge', { collection: this.name, kind: 0, from, to }));
  }

  /** Searches from the origin, unless `options` has another query. */
  post(options: object): Promise<Answer> {
    const query = new Array(this.dimension).fill(0);
    return this.client.post('/v1/search', { collection: this.name, query, k: 10, ...options });
  }

  async search(options: object): Promise<Hit[]> {
    return (await this.#ok(this.post(options))).body.results;
  }

  async ids(options: object): Promise<number[]> {
    return (await this.search(options)).map(({ id }) => id);
  }

  async #ok(asked: Promise<Answer>): Promise<Answer> {
    const answer = await asked;
    expect(answer.status, answer.text).to.equal(200);
    return answer;
  }
}
