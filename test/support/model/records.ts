/** What the model of search knows of a collection: records in an array, and its graph. */
import type { Json } from '../../../shared/model/filter.js';
import { ModelGraph } from './graph.js';

export interface ModelRecord {
  readonly id: number;
  /** As it was sent. */
  readonly values: readonly number[];
  /** Bytes that are no JSON: undefined, as no bytes at all. */
  readonly metadata: Json | undefined;
  readonly text: string | null;
  /** Of the insert's event. */
  readonly insertedMs: number;
  readonly isLive: boolean;
}

export class ModelCollection {
  /** All but those deleted for good. */
  records: ModelRecord[] = [];

  constructor(
    readonly name: string,
    readonly graph = new ModelGraph(),
  ) {}

  get live(): ModelRecord[] {
    return this.records.filter(({ isLive }) => isLive);
  }

  insert(record: ModelRecord): void {
    this.records.push(record);
  }

  softDelete(id: number): void {
    this.#change(id, { isLive: false });
  }

  /** Its nodes go with it. */
  delete(id: number): void {
    this.records = this.records.filter((record) => record.id !== id);
    this.graph.removeRecord(id);
  }

  updateMetadata(id: number, metadata: Json): void {
    this.#change(id, { metadata });
  }

  /** The same, as if it had these records alone. */
  among(ids: ReadonlySet<number>): ModelCollection {
    const part = new ModelCollection(this.name, this.graph);
    part.records.push(...this.records.filter(({ id }) => ids.has(id)));
    return part;
  }

  #change(id: number, fields: Partial<ModelRecord>): void {
    this.records = this.records.map((record) => (record.id === id ? { ...record, ...fields } : record));
  }
}
