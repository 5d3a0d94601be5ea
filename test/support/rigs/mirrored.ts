/** A collection of the service and its model. Each write goes to both, so that tests can compare the answers of reads. */
import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import type { Json } from '../../../shared/model/filter.js';
import { readProof, type WriteReceipt } from '../../../verifier/receipt.js';
import type { Answer, Client } from '../launch/client.js';
import type { ModelEdge } from '../model/graph.js';
import { ModelHistory, type Span } from '../model/history.js';
import type { ModelCollection, ModelRecord } from '../model/records.js';

export interface NewRecord {
  readonly values: readonly number[];
  /** Undefined: no metadata. A string: exactly these bytes, JSON or not. */
  readonly metadata: Json | undefined;
  readonly text: string | null;
}

const bytesOf = (metadata: Json): number[] => [
  ...Buffer.from(typeof metadata === 'string' ? metadata : JSON.stringify(metadata)),
];

/** Parsed metadata, if the bytes are JSON. */
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

interface Timed {
  readonly body: Answer['body'];
  /** Span from its request to its answer. */
  readonly span: Span;
}

export class Mirrored {
  readonly history: ModelHistory;
  #requests = 0;

  constructor(
    readonly client: Client,
    readonly name: string,
    readonly dimension: number,
  ) {
    this.history = new ModelHistory(name);
  }

  /** Model of the current state. */
  get model(): ModelCollection {
    return this.history.now;
  }

  async create(index: string): Promise<void> {
    const { name, dimension } = this;
    await this.#post('/v1/namespaces', { name, dimension, metric: 'squared_l2', index });
  }

  async insert(record: NewRecord): Promise<void> {
    const { values, metadata, text } = record;
    const bytes = metadata === undefined ? null : bytesOf(metadata);
    const { body } = await this.#post('/v1/records', { collection: this.name, values, metadata: bytes, text });
    this.#inserted(body.id, record, timeOf(body.receipt), body.receipt.state_hash);
  }

  /**
   * Inserts a batch. It is one commit, so all its records have one time. To learn the time, the first record is sent again
   * under its request id: the answer contains its receipt.
   */
  async insertAll(records: readonly NewRecord[]): Promise<void> {
    const request_ids = records.map(() => requestId(++this.#requests));
    const { ids } = (
      await this.#post('/v1/vectors/batch-insert', {
        collection: this.name,
        batch: records.map(({ values }) => values),
        metadata: records.map(({ metadata }) => metadata ?? null),
        texts: records.map(({ text }) => text),
        request_ids,
      })
    ).body;
    const first = { collection: this.name, values: records[0]!.values, request_id: request_ids[0] };
    const { deduplicated, receipt } = (await this.#post('/v1/records', first)).body;
    expect(deduplicated).to.equal(true);
    for (const [i, id] of ids.entries())
      this.#inserted(id, records[i]!, timeOf(receipt), i === 0 ? receipt.state_hash : undefined);
  }

  async softDelete({ id }: ModelRecord): Promise<void> {
    const { span } = await this.#post('/v1/soft-delete', { collection: this.name, id });
    this.history.commit({ ...span, apply: (model) => model.softDelete(id) });
  }

  async delete({ id }: ModelRecord): Promise<void> {
    const { span } = await this.#post('/v1/delete', { collection: this.name, id });
    this.history.commit({ ...span, apply: (model) => model.delete(id) });
  }

  async updateMetadata({ id }: ModelRecord, metadata: Json): Promise<void> {
    const path = `/v1/records/${id}/metadata?collection=${this.name}`;
    const { span } = await this.#timed(path, () => this.client.patch(path, metadata));
    this.history.commit({ ...span, apply: (model) => model.updateMetadata(id, metadata) });
  }

  /** `record`: the record of the node, if it has one. */
  async addNode(record: ModelRecord | undefined): Promise<void> {
    const recordId = record?.id ?? null;
    const kind = record === undefined ? 1 : 0;
    const { body, span } = await this.#post('/v1/graph/node', { collection: this.name, kind, record_id: recordId });
    const node = { id: body.node_id, recordId };
    this.history.commit({ ...span, apply: ({ graph }) => graph.nodes.push(node) });
  }

  async addEdge({ from, to, kind }: { from: number; to: number; kind: number }): Promise<void> {
    const { body, span } = await this.#post('/v1/graph/edge', { collection: this.name, from, to, kind });
    const edge = { id: body.edge_id, from, to };
    this.history.commit({ ...span, apply: ({ graph }) => graph.edges.push(edge) });
  }

  async deleteNode(id: number): Promise<void> {
    const span = await this.#delete(`/v1/graph/node/${id}?collection=${this.name}`);
    this.history.commit({ ...span, apply: ({ graph }) => graph.removeNode(id) });
  }

  async deleteEdge({ id }: ModelEdge): Promise<void> {
    const span = await this.#delete(`/v1/graph/edge/${id}?collection=${this.name}`);
    this.history.commit({ ...span, apply: ({ graph }) => graph.removeEdge(id) });
  }

  #inserted(id: number, { values, metadata, text }: NewRecord, timeMs: number, stateHash: string | undefined): void {
    const record = { id, values, metadata: storedOf(metadata), text, insertedMs: timeMs, isLive: true };
    this.history.commit({ fromMs: timeMs, toMs: timeMs, stateHash, apply: (model) => model.insert(record) });
  }

  async #delete(path: string): Promise<Span> {
    return (await this.#timed(path, () => this.client.delete(path))).span;
  }

  #post(path: string, body: object): Promise<Timed> {
    return this.#timed(path, () => this.client.post(path, body));
  }

  async #timed(path: string, ask: () => Promise<Answer>): Promise<Timed> {
    const fromMs = systemClock.nowMs();
    const { status, text, body } = await ask();
    expect(status, `${path}: ${text}`).to.equal(200);
    return { body, span: { fromMs, toMs: systemClock.nowMs() } };
  }
}
