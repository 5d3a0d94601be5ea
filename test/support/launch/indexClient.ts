/** Collections with an index, over HTTP: filled, watched during builds, and searched. */
import { expect } from 'chai';
import { INDEX_KINDS } from '../../../shared/model/indexKinds.js';
import { seededRandom } from '../model/random.js';
import type { Answer, Client } from './client.js';
import type { Service } from './service.js';

export const DIMENSION = 8;
export const KINDS = INDEX_KINDS;

/** Build parameters that take seconds for a few thousand rows, and grow with their square: time to observe a build. */
export const SLOW = { m: 64, ef_construction: 4_096 } as const;

/** Integer vectors, so that distances are integers too. */
export function rowsOf(seed: number, count: number): number[][] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => Array.from({ length: DIMENSION }, () => random.int(2_000) - 1_000));
}

export const distance = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + (value - b[i]!) ** 2, 0);

/** One collection from its client's view. */
export class IndexedByHttp {
  constructor(
    private readonly service: Service,
    readonly client: Client,
    readonly name = 'c',
  ) {}

  create(index?: string): Promise<Answer> {
    const { name } = this;
    return this.client.post('/v1/namespaces', { name, dimension: DIMENSION, metric: 'squared_l2', index });
  }

  async fill(batch: readonly number[][]): Promise<number[]> {
    const { status, text, body } = await this.client.post('/v1/vectors/batch-insert', { collection: this.name, batch });
    expect(status, text).to.equal(200);
    return body.ids;
  }

  insert(values: readonly number[]): Promise<Answer> {
    return this.client.post('/v1/records', { collection: this.name, values });
  }

  remove(id: number, path = '/v1/delete'): Promise<Answer> {
    return this.client.post(path, { collection: this.name, id });
  }

  async search(query: readonly number[], k = 1): Promise<{ id: number; score: number }[]> {
    const { status, text, body } = await this.client.post('/v1/search', { collection: this.name, query, k });
    expect(status, text).to.equal(200);
    return body.results;
  }

  configure(body: object): Promise<Answer> {
    return this.client.post(`/v1/namespaces/${this.name}/index`, body);
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape right after reading it
  async state(): Promise<any> {
    const { status, text, body } = await this.client.get(`/v1/namespaces/${this.name}/index`);
    expect(status, text).to.equal(200);
    return body;
  }

  /** Resolves to the state once the type serves and no generation is being built or requested. */
  async settled(type: string): Promise<Awaited<ReturnType<IndexedByHttp['state']>>> {
    const status = type === 'none' ? 'none' : 'active';
    // biome-ignore lint/suspicious/noExplicitAny: as of `state`
    let last: any;
    try {
      await this.service.until(async () => {
        last = await this.state();
        return last.active_type === type && last.status === status && last.building_generation === null;
      });
    } catch (error) {
      throw new Error(`no ${type} index: ${JSON.stringify(last)}`, { cause: error });
    }
    return last;
  }

  /** Its entry in the list of collections. */
  async listed(): Promise<{ index: string; record_count: number }> {
    const { body } = await this.client.get('/v1/namespaces');
    return body.collections.find(({ name }: { name: string }) => name === this.name);
  }

  /** Each row is found at its place; hits have exact distances, nearest first. */
  async expectFound(
    rows: readonly (readonly number[])[],
    ids: readonly number[],
    at: readonly number[],
  ): Promise<void> {
    for (const place of at) {
      const row = rows[place]!;
      const results = await this.search(row, 5);
      expect(results).to.have.length(Math.min(5, rows.length));
      expect(results[0]).to.deep.equal({ id: ids[place], score: 0 });
      const scores = results.map(({ score }) => score);
      expect(scores).to.deep.equal([...scores].sort((a, b) => a - b));
      for (const { id, score } of results) expect(score).to.equal(distance(row, rows[ids.indexOf(id)]!));
    }
  }
}
