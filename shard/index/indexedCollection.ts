import type { CollectionConfig } from '../../shared/calls.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';

/** What an index sees of its collection. */
export interface IndexedCollection {
  readonly config: CollectionConfig;
  readonly vectors: VectorBlocks;
  /** Committed events applied. */
  readonly sequence: number;
  /** Undefined where the record is not live. */
  liveSlotOf(recordId: number): number | undefined;
}
