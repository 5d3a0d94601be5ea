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

/** Services that the indexes of one shard share. */
export interface IndexServices {
  readonly store: GenerationStore;
  readonly builds: BuildThread;
  readonly absorber: Absorber;
  readonly desired: DesiredSpecs;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Part of a collection that its index reads. */
export interface IndexedCollection {
  readonly config: CollectionConfig;
  readonly vectors: VectorBlocks;
  /** Present if the files of its indexes are encrypted; see `payloadFile.ts`. */
  readonly fileKey?: Uint8Array | undefined;
  /** Sequence of the last event applied to `vectors`, possibly in the middle of a frame. */
  readonly sequence: number;
  readonly records: {
    readonly versions: Replacements;
    /** Returns the slot of a live record; otherwise undefined. */
    liveSlotOf(recordId: number): number | undefined;
  };
}
