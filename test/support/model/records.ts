/** What the model of search knows of a collection: records in an array, and its graph. */
import type { Json } from '../../../shared/filter.js';
import { ModelGraph } from './graph.js';

export interface ModelRecord {
  readonly id: number;
  /** As it was sent. */
  readonly values: readonly number[];
  /** Bytes that are no JSON: undefined, as no bytes at all. */
  metadata: Json | undefined;
  readonly text: string | null;
  /** Of the insert's event. */
  readonly insertedMs: number;
  isLive: boolean;
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

  /** The same, as if it had these records alone. */
  among(ids: ReadonlySet<number>): ModelCollection {
    const part = new ModelCollection(this.name, this.graph);
    part.records.push(...this.records.filter(({ id }) => ids.has(id)));
    return part;
  }
}
