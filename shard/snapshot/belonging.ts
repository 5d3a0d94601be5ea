/** Whether a snapshot is of this collection and of this very log: from its facts, before anything else is read of it. */
import type { CollectionConfig } from '../../shared/calls.js';
import type { Clock } from '../../shared/clock.js';
import { DOMAIN, hash } from '../../shared/hash.js';
import { genesisOf } from '../../shared/log/event.js';
import { type EventLog, LogDamaged } from '../../shared/log/eventLog.js';
import { encodeEvent } from '../../shared/log/eventWriter.js';
import { readFrameHeader } from '../../shared/log/frame.js';
import { Malformed } from '../../shared/malformed.js';
import { assertReaches } from '../collection/lostEnd.js';
import { DamagedSnapshot, UnusableSnapshot } from './damagedSnapshot.js';
import type { SnapshotFacts } from './format.js';
import { chunksOf, type OpenedSnapshot, rowsIn } from './snapshotFile.js';

/**
 * Throws DamagedSnapshot where it is of another collection, and UnusableSnapshot where it knows fewer request ids than are
 * wanted.
 */
export function assertOfCollection(snapshot: OpenedSnapshot, config: CollectionConfig, dedupWindow: number): void {
  const { facts } = snapshot;
  const configHash = hash(Uint8Array.of(DOMAIN.logLeaf, ...encodeEvent(genesisOf(config))));
  if (facts.collectionId !== config.id || Buffer.compare(facts.configHash, configHash) !== 0)
    throw new DamagedSnapshot('it is of another collection');
  // A window that was never full has all there were.
  const requests = rowsIn(chunksOf(snapshot, 'requests'));
  if (facts.dedupWindow < dedupWindow && requests >= facts.dedupWindow)
    throw new UnusableSnapshot(`it remembers ${facts.dedupWindow} request ids, and ${dedupWindow} are wanted`);
}

/**
 * Whether the frame at its position is the one that ends with its chain head; it is not where that frame is damaged, either.
 * Throws Damaged where the log ends before it, since it was made of nothing but what was committed.
 */
export async function isOfLog(facts: SnapshotFacts, log: EventLog, clock: Clock): Promise<boolean> {
  if (await endsWith(facts, log)) return true;
  const { collectionId, sequence } = facts;
  await assertReaches(log, collectionId, sequence, `event ${sequence} was in it when a snapshot was made`, clock);
  return false;
}

async function endsWith(facts: SnapshotFacts, log: Pick<EventLog, 'readAt'>): Promise<boolean> {
  try {
    const { firstSequence, events, logBytesAfter, liveRecords, chainHeadAfter } = readFrameHeader(
      await log.readAt(facts.position),
    );
    return (
      firstSequence + events - 1 === facts.sequence &&
      logBytesAfter === facts.logBytes &&
      liveRecords === facts.liveRecords &&
      Buffer.compare(chainHeadAfter, facts.chainHead) === 0
    );
  } catch (error) {
    // Whether the log is damaged there it will say itself, where it is read.
    if (error instanceof LogDamaged || error instanceof Malformed) return false;
    throw error;
  }
}
