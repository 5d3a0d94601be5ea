import type { Clock } from '../../shared/clock.js';
import type { Logger } from '../../shared/logger.js';
import type { Absorber } from './absorber.js';
import type { BuildThread } from './build/buildThread.js';
import type { DesiredSpecs } from './desiredSpecs.js';
import type { IndexMetrics } from './indexMetrics.js';
import type { GenerationStore } from './store/generationStore.js';

/** What the indexes of one shard share. */
export interface IndexServices {
  readonly store: GenerationStore;
  readonly builds: BuildThread;
  readonly absorber: Absorber;
  readonly desired: DesiredSpecs;
  readonly metrics: IndexMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
}
