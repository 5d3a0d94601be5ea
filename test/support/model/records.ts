/** Model of a collection for searches: an array of records, and a graph. */
import type { Json } from '../../../shared/model/filter.js';
import { ModelGraph } from './graph.js';

export interface ModelRecord {
  readonly id: number;
  /** Values as sent. */
  readonly values: readonly number[];
  /** Parsed metadata; undefined for bytes that are not JSON, and without bytes. */
  readonly metadata: Json | undefined;
  readonly text: string | null;
  /** Time of the insert event. */
  readonly insertedMs: number;
  readonly isLive: boolean;
}

export class ModelCollection {
  /** All records except hard-deleted ones. */
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

  /** Deletes a record and its nodes. */
  delete(id: number): void {
    this.records = this.records.filter((record) => record.id !== id);
    this.graph.removeRecord(id);
  }

  updateMetadata(id: number, metadata: Json): void {
    this.#change(id, { metadata });
  }

  /** The collection reduced to these records. */
  among(ids: ReadonlySet<number>): ModelCollection {
    const part = new ModelCollection(this.name, this.graph);
    part.records.push(...this.records.filter(({ id }) => ids.has(id)));
    return part;
  }

  #change(id: number, fields: Partial<ModelRecord>): void {
    this.records = this.records.map((record) => (record.id === id ? { ...record, ...fields } : record));
  }
}
