/** The few calls that prepare what is measured and shown. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  async createCollection(name: string, dimension: number): Promise<void> {
    await this.post('/v1/namespaces', { name, dimension, metric: 'squared_l2' });
  }

  async insertBatch(collection: string, batch: readonly (readonly number[])[]): Promise<void> {
    await this.post('/v1/vectors/batch-insert', { collection, batch });
  }

  async post(path: string, body: unknown): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  }
}
