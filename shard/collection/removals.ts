/**
 * The removal of expired records. It is an event whose time is the expiry, committed before any later event and before any
 * later answer about the present. So the log alone decides which states have a record, on every replica.
 */
import { SYSTEM } from '../../shared/model/actor.js';
import { Slice } from '../../shared/scheduling/slice.js';
import { CommitBuilder } from '../state/commitBuilder.js';
import type { Room } from '../state/refusals.js';
import { type CollectionParts, startCommit } from './logImport.js';
import { deletionsMax } from './planWrite.js';

/** Time until a removal must be durable. */
const DURABLE_MS = 10_000;

/** Deletions need none. */
const NO_ROOM: Room = { records: 0, bytes: 0, limits: { records: 0, bytes: 0 }, isFinal: true };

/** A removal that callers wait for. */
export class PendingRemoval {
  readonly done: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;

  constructor() {
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

/** Commits the removal of records that have expired, first those that expired first, as many as fit a frame. */
export async function commitRemovals({ state, journal, context }: CollectionParts): Promise<void> {
  const { clock, metrics, limits } = context;
  await journal.settle();
  const start = { sequence: journal.sequence + 1, timeMs: journal.timeMs, room: NO_ROOM };
  const plan = new CommitBuilder(state, start, limits);
  plan.as(SYSTEM);
  const slice = new Slice(clock);
  const max = deletionsMax(journal);
  for (const recordId of state.expiries.due(clock.nowMs())) {
    plan.expire(recordId);
    if (plan.events.length === max) break;
    if (slice.step()) await slice.next();
  }
  const removed = plan.events.length;
  if (removed === 0) return;
  const onDurable = startCommit(metrics, removed);
  await journal.commit(plan, clock.nowMs() + DURABLE_MS, onDurable, () => undefined);
  metrics.count('vouch_expired_records_total', removed);
}
