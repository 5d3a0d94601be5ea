import type { VectorBlocks } from '../shard/kernel/vectorBlocks.js';
import { CollectionState } from '../shard/state/collectionState.js';

/** The state of a collection that is never stored. */
export const stateOf = (vectors: VectorBlocks): CollectionState =>
  new CollectionState(
    { id: 1, project: 'bench', name: 'bench', dimension: vectors.dimension, metric: 'squared_l2', createdAtMs: 0 },
    vectors,
    0,
  );
