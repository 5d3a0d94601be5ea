/** The resources of a shard that its collections share. */

import type { Clock } from '../../shared/clock.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { Signer } from '../../shared/signing/signer.js';
import type { Transport } from '../../shared/transport/transport.js';
import type { AsOfThread } from '../asOf/asOfThread.js';
import type { CallAdmission } from '../capacity/admission.js';
import type { DamageReports } from '../capacity/damageReports.js';
import type { MemoryGuard } from '../capacity/memoryGuard.js';
import type { Quota } from '../capacity/quota.js';
import type { StoreGuard } from '../capacity/storeGuard.js';
import type { IndexServices } from '../index/services.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { Openings } from '../opening/openings.js';
import type { SnapshotServices } from '../snapshot/snapshotServices.js';
import type { EventLimits } from '../state/eventLimits.js';
import type { RecordVault } from '../vault/recordVault.js';
import type { WatermarkNotes } from './watermarkNotes.js';

/** See `dueRemovals.ts`. */
export interface RemovalNotes {
  ensureNoted(collectionId: number, nextMs: number): Promise<void>;
  isDue(collectionId: number): boolean;
  removeDue(collectionIds: readonly number[]): Promise<void>;
}

export interface CollectionContext {
  readonly admission: CallAdmission;
  readonly openings: Openings;
  readonly logs: EventLogs;
  readonly watermarks: WatermarkNotes;
  readonly removals: RemovalNotes;
  readonly transport: Transport;
  readonly memory: VectorMemory;
  readonly quota: Quota;
  readonly memoryGuard: MemoryGuard;
  readonly storeGuard: StoreGuard;
  readonly vault: RecordVault;
  readonly indexes: IndexServices;
  readonly pasts: AsOfThread;
  /** Undefined if collections are opened from their logs alone. */
  readonly snapshots?: SnapshotServices;
  readonly damages: DamageReports;
  readonly signer: Signer;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Checked for new writes only. */
  readonly limits: EventLimits;
  /** Number of request ids that a collection remembers. */
  readonly dedupWindow: number;
}
