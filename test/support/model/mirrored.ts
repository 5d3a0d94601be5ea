/** A collection of the service and its model, written to together: what is answered is what the model holds. */
import { expect } from 'chai';
import { readProof, type WriteReceipt } from '../../../scripts/verifier/receipt.js';
import type { Json } from '../../../shared/filter.js';
import type { Answer, Client } from '../client.js';
import type { ModelEdge } from './graph.js';
import { ModelCollection, type ModelRecord } from './records.js';

export interface NewRecord {
  readonly values: readonly number[];
  /** Undefined: none. A string: these very bytes, JSON or not. */
  readonly metadata: Json | undefined;
  readonly text: string | null;
}

const bytesOf = (metadata: Json): number[] => [
  ...Buffer.from(typeof metadata === 'string' ? metadata : JSON.stringify(metadata)),
];

/** What the bytes say, where they are JSON. */
function storedOf(metadata: Json | undefined): Json | undefined {
  if (typeof metadata !== 'string') return metadata;
  try {
    return JSON.parse(metadata);
  } catch {
    return undefined;
  }
}

const timeOf = (receipt: WriteReceipt): number => Number(readProof(receipt.proof).timeMs);
const requestId = (n: number): string => n.toString(16).padStart(32, '0');

export class Mirrored {
  readonly model: ModelCollection;
  #requests = 0;

  constructor(
    readonly client: Client,
    readonly name: string,
    readonly dimension: number,
  ) {
    this.model = new ModelCollection(name);
  }

  async create(index: string): Promise<void> {
    const { name, dimension } = this;
    await this.#post('/v1/namespaces', { name, dimension, metric: 'squared_l2', index });
  }

  async insert(record: NewRecord): Promise<void> {
    const { values, metadata, text } = record;
    const bytes = metadata === undefined ? null : bytesOf(metadata);
    const body = await this.#post('/v1/records', { collection: this.name, values, metadata: bytes, text });
    this.#learn(body.id, record, timeOf(body.receipt));
  }

  /** A batch is committed as one: the first record's receipt, had again by its request id, tells the time of all. */
  async insertAll(records: readonly NewRecord[]): Promise<void> {
    const request_ids = records.map(() => requestId(++this.#requests));
    const { ids } = await this.#post('/v1/vectors/batch-insert', {
      collection: this.name,
      batch: records.map(({ values }) => values),
      metadata: records.map(({ metadata }) => metadata ?? null),
      texts: records.map(({ text }) => text),
      request_ids,
    });
    const first = { collection: this.name, values: records[0]!.values, request_id: request_ids[0] };
    const { deduplicated, receipt } = await this.#post('/v1/records', first);
    expect(deduplicated).to.equal(true);
    for (const [i, id] of ids.entries()) this.#learn(id, records[i]!, timeOf(receipt));
  }

  async softDelete(record: ModelRecord): Promise<void> {
    await this.#post('/v1/soft-delete', { collection: this.name, id: record.id });
    record.isLive = false;
  }

  async delete(record: ModelRecord): Promise<void> {
    await this.#post('/v1/delete', { collection: this.name, id: record.id });
    this.model.records = this.model.records.filter((one) => one !== record);
    this.model.graph.removeRecord(record.id);
  }

  async updateMetadata(record: ModelRecord, metadata: Json): Promise<void> {
    const path = `/v1/records/${record.id}/metadata?collection=${this.name}`;
    this.#answered(path, await this.client.patch(path, metadata));
    record.metadata = metadata;
  }

  /** `record`: what it stands for, if anything. */
  async addNode(record: ModelRecord | undefined): Promise<void> {
    const recordId = record?.id ?? null;
    const kind = record === undefined ? 1 : 0;
    const body = await this.#post('/v1/graph/node', { collection: this.name, kind, record_id: recordId });
    this.model.graph.nodes.push({ id: body.node_id, recordId });
  }

  async addEdge({ from, to, kind }: { from: number; to: number; kind: number }): Promise<void> {
    const { edge_id: id } = await this.#post('/v1/graph/edge', { collection: this.name, from, to, kind });
    this.model.graph.edges.push({ id, from, to });
  }

  async deleteNode(id: number): Promise<void> {
    await this.#delete(`/v1/graph/node/${id}?collection=${this.name}`);
    this.model.graph.removeNode(id);
  }

  async deleteEdge({ id }: ModelEdge): Promise<void> {
    await this.#delete(`/v1/graph/edge/${id}?collection=${this.name}`);
    this.model.graph.removeEdge(id);
  }

  #learn(id: number, { values, metadata, text }: NewRecord, insertedMs: number): void {
    this.model.records.push({ id, values, metadata: storedOf(metadata), text, insertedMs, isLive: true });
  }

  async #delete(path: string): Promise<void> {
    this.#answered(path, await this.client.delete(path));
  }

  async #post(path: string, body: object): Promise<Answer['body']> {
    return this.#answered(path, await this.client.post(path, body));
  }

  #answered(path: string, { status, text, body }: Answer): Answer['body'] {
    expect(status, `${path}: ${text}`).to.equal(200);
    return body;
  }
}
