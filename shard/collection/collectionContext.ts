/** What a shard lends to each of its collections. */
import type { Clock } from '../../shared/clock.js';
import type { EventLogs } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Transport } from '../../shared/transport/transport.js';
import type { Admission } from '../admission.js';
import type { DamageReports } from '../damageReports.js';
import type { RecordVault } from '../encrypted/recordVault.js';
import type { IndexServices } from '../index/services.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import type { ShardMetrics } from '../metrics.js';
import type { Openings } from '../openings.js';
import type { PastThread } from '../past/pastThread.js';
import type { Signer } from '../proof/signer.js';
import type { Quota } from '../quota.js';
import type { SnapshotServices } from '../snapshot/snapshotServices.js';
import type { ReachNotes } from './reachNotes.js';

export interface CollectionContext {
  readonly admission: Admission;
  readonly openings: Openings;
  readonly logs: EventLogs;
  readonly reach: ReachNotes;
  readonly transport: Transport;
  readonly memory: VectorMemory;
  readonly quota: Quota;
  readonly vault: RecordVault;
  readonly indexes: IndexServices;
  readonly pasts: PastThread;
  /** Undefined: collections are opened from their logs alone. */
  readonly snapshots?: SnapshotServices;
  readonly damages: DamageReports;
  readonly signer: Signer;
  readonly metrics: ShardMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Request ids a collection remembers. */
  readonly dedupWindow: number;
}
