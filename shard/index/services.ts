import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { VectorBlocks } from '../kernel/vectorBlocks.js';
import type { Absorber } from './absorber.js';
import type { BuildThread } from './builds/buildThread.js';
import type { DesiredSpecs } from './desiredSpecs.js';
import type { Replacements } from './replaced.js';
import type { GenerationStore } from './store/generationStore.js';

/** The services that the indexes of one shard share. */
export interface IndexServices {
  readonly store: GenerationStore;
  readonly builds: BuildThread;
  readonly absorber: Absorber;
  readonly desired: DesiredSpecs;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of a collection that its index reads. */
export interface IndexedCollection {
  readonly config: CollectionConfig;
  readonly vectors: VectorBlocks;
  /** The last event applied, also in the middle of a frame: of what `vectors` holds now. */
  readonly sequence: number;
  readonly records: {
    readonly versions: Replacements;
    /** Undefined where the record is not live. */
    liveSlotOf(recordId: number): number | undefined;
  };
}
