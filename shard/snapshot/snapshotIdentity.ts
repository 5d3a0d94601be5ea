/** Checks by its facts whether a snapshot belongs to a collection and to its log. */
import type { Clock } from '../../shared/clock.js';
import { Malformed } from '../../shared/errors/malformed.js';
import { type EventLog, LogDamaged } from '../../shared/log/eventLog.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import { configHashOf } from '../state/replay.js';
import { assertReaches, readStored } from '../state/truncatedLog.js';
import { DamagedSnapshot, type SnapshotFacts, UnusableSnapshot } from './format.js';
import { chunksOf, countRows, type OpenedSnapshot } from './snapshotFile.js';

/** Throws DamagedSnapshot if it belongs to another collection, and UnusableSnapshot if it has too few request ids. */
export function assertOfCollection(snapshot: OpenedSnapshot, config: CollectionConfig, dedupWindow: number): void {
  const { facts } = snapshot;
  if (facts.collectionId !== config.id || Buffer.compare(facts.configHash, configHashOf(config)) !== 0)
    throw new DamagedSnapshot('it belongs to another collection');
  // A window that was never full has all request ids.
  const requests = countRows(chunksOf(snapshot, 'requests'));
  if (facts.dedupWindow < dedupWindow && requests >= facts.dedupWindow)
    throw new UnusableSnapshot(`it remembers ${facts.dedupWindow} request ids, and ${dedupWindow} are needed`);
}

/**
 * Whether the frame at the snapshot's position ends with its chain head; false too if that frame is damaged. Throws
 * Damaged if the log ends too early, since a snapshot has only committed events.
 */
export async function isOfLog(facts: SnapshotFacts, log: EventLog, clock: Clock): Promise<boolean> {
  if (await endsWith(facts, () => log.readAt(facts.position))) return true;
  const { collectionId, sequence } = facts;
  await assertReaches(
    log,
    collectionId,
    { sequence, known: `event ${sequence} was in it when a snapshot was made` },
    clock,
  );
  // A stale replica may have answered.
  return endsWith(facts, () => readStored(log, facts.position, clock));
}

async function endsWith(facts: SnapshotFacts, read: () => Promise<Uint8Array>): Promise<boolean> {
  try {
    const header = readFrameHeader(await read());
    return (
      header.lastSequence === facts.sequence &&
      header.logBytesAfter === facts.logBytes &&
      header.liveRecords === facts.liveRecords &&
      Buffer.compare(header.chainHeadAfter, facts.chainHead) === 0
    );
  } catch (error) {
    // Damage of the log there is reported when the log is read.
    if (error instanceof LogDamaged || error instanceof Malformed) return false;
    throw error;
  }
}
