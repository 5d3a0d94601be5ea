import type { Clock } from '../../../shared/clock.js';
import type { Logger } from '../../../shared/logger.js';
import type { Metrics } from '../../../shared/metrics/metrics.js';
import type { Envelope } from '../../../shared/transport/transport.js';
import type { Catalog } from '../catalog/catalog.js';
import type { Leadership } from '../members/leadership.js';
import type { Members } from '../members/members.js';

/** Services that every part of placement uses. */
export interface PlacementContext {
  readonly catalog: Catalog;
  readonly members: Members;
  readonly leadership: Leadership;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The envelope of a call that placement makes on its own account. */
export const placementEnvelope = (clock: Clock, withinMs: number): Envelope => ({
  requestId: 'placement',
  deadlineMs: clock.nowMs() + withinMs,
});
