import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { CollectionState } from './collectionState.js';
import type { Journal } from './journal.js';

/** A collection with the state into which its log was replayed. */
export interface ReplayedCollection {
  readonly config: CollectionConfig;
  readonly state: CollectionState;
  readonly journal: Journal;
}
