/** Snapshots as the thread of historical states writes and restores them. */
import { systemClock } from '../../shared/clock.js';
import { codeOf, makeDirectory } from '../../shared/files/durable.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { setAside, snapshotPath, snapshotsIn } from './folder.js';
import { DamagedSnapshot, UnusableSnapshot } from './format.js';
import { readHere } from './readJob.js';
import { restoreSnapshot } from './restore.js';
import type { SavedSnapshot, SetAside, SnapshotPlace, SnapshotState } from './savedSnapshots.js';
import { openSnapshot } from './snapshotFile.js';
import { assertOfCollection } from './snapshotIdentity.js';
import { writeSnapshot } from './writeSnapshot.js';

export interface Restore {
  /** No event after it is in the state. */
  readonly upTo: number;
  /** A snapshot at or before this event is of no use: a cached state is as near. */
  readonly after: number;
  readonly dedupWindow: number;
  readonly memory: VectorMemory;
  /** Called for each snapshot that did not verify. */
  readonly onSetAside: (snapshot: SetAside) => void;
  /** Called after each slice of work; ends it by throwing. */
  readonly rest: () => Promise<void>;
}

/**
 * The newest snapshot with `after` < sequence <= `upTo` that verifies; undefined where there is none. The caller destroys
 * its vectors; where this throws they are destroyed. That it belongs to the log was checked at the collection's opening.
 */
export async function restoreNewest(
  config: CollectionConfig,
  { folder }: SnapshotPlace,
  { upTo, after, dedupWindow, memory, rest, onSetAside }: Restore,
): Promise<SnapshotState | undefined> {
  for (const { path, sequence } of await snapshotsIn(folder)) {
    if (sequence > upTo || sequence <= after) continue;
    try {
      const snapshot = await openSnapshot(path);
      assertOfCollection(snapshot, config, dedupWindow);
      return await restoreSnapshot(snapshot, { config, memory, dedupWindow, read: readHere, readers: 1, rest });
    } catch (error) {
      if (error instanceof DamagedSnapshot) onSetAside({ name: await setAside(path), reason: error.message });
      else if (!(error instanceof UnusableSnapshot || codeOf(error) === 'ENOENT')) throw error;
    }
  }
  return undefined;
}

/** Durable when it resolves. Throws where it cannot be written; then nothing of it is left. */
export async function saveSnapshot(
  config: CollectionConfig,
  { folder }: SnapshotPlace,
  made: SnapshotState,
  rest: () => Promise<void>,
): Promise<SavedSnapshot> {
  const { sequence } = made.history;
  await makeDirectory(folder);
  const path = snapshotPath(folder, sequence);
  return { sequence, sizeBytes: await writeSnapshot(path, config.id, made, systemClock.nowMs(), rest) };
}
