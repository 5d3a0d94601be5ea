/** Snapshots as the thread of historical states writes and restores them. */
import { systemClock } from '../../shared/clock.js';
import { isOfSystem, makeDirectory } from '../../shared/files/durable.js';
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
 * The newest snapshot with `after` < sequence <= `upTo` that can be read and verifies; undefined where there is none. The caller destroys
 * its vectors; where this throws they are destroyed. That it belongs to the log was checked at the collection's opening.
 */
export async function restoreNewest(
  config: CollectionConfig,
  { folder }: SnapshotPlace,
  { upTo, after, dedupWindow, memory, rest, onSetAside }: Restore,
): Promise<SnapshotState | undefined> {
  for (const { path, sequence } of await snapshotsIn(folder).catch(noneIfUnreadable)) {
    if (sequence > upTo || sequence <= after) continue;
    try {
      const snapshot = await openSnapshot(path);
      assertOfCollection(snapshot, config, dedupWindow);
      return await restoreSnapshot(snapshot, { config, memory, dedupWindow, read: readHere, readers: 1, rest });
    } catch (error) {
      if (error instanceof DamagedSnapshot) await tryToSetAside(path, error, onSetAside);
      else if (!(error instanceof UnusableSnapshot || isOfSystem(error))) throw error;
    }
  }
  return undefined;
}

/** The log has everything that a snapshot has, so a disk that fails is no reason to fail. */
function noneIfUnreadable(error: unknown): [] {
  if (!isOfSystem(error)) throw error;
  return [];
}

/** One that cannot be renamed is found damaged again the next time. */
async function tryToSetAside(path: string, { message: reason }: Error, tell: Restore['onSetAside']): Promise<void> {
  try {
    tell({ name: await setAside(path), reason });
  } catch (error) {
    if (!isOfSystem(error)) throw error;
  }
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
