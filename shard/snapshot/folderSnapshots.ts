/** Writes and restores snapshots in the thread of past states. */
import { systemClock } from '../../shared/clock.js';
import { isOfSystem, makeDirectory } from '../../shared/files/durable.js';
import type { VectorMemory } from '../kernel/vectorMemory.js';
import { setAside, snapshotPath, snapshotsIn } from './folder.js';
import { DamagedSnapshot, UnusableSnapshot } from './format.js';
import type { Opening } from './opening.js';
import { readHere } from './readJob.js';
import { restoreSnapshot } from './restore.js';
import type { SavedSnapshot, SetAside, SnapshotPlace, SnapshotState } from './savedSnapshots.js';
import { openSnapshot } from './snapshotFile.js';
import { assertOfCollection } from './snapshotIdentity.js';
import { writeSnapshot } from './writeSnapshot.js';

export interface Restore {
  /** The state has no event after this one. */
  readonly upTo: number;
  /** A snapshot at or before this event is of no use, since a cached state is as near. */
  readonly after: number;
  readonly dedupWindow: number;
  readonly memory: VectorMemory;
  /** Called for each snapshot that did not verify. */
  readonly onSetAside: (snapshot: SetAside) => void;
  /** Called after each slice of work; may throw to end it. */
  readonly rest: () => Promise<void>;
}

/**
 * Restores the newest snapshot with `after` < sequence <= `upTo` that can be read and verifies; undefined if none can.
 * The caller destroys its vectors; on an error they are destroyed here. That it belongs to the log was checked at the
 * opening.
 */
export async function restoreNewest(
  { config, place, contents }: Opening,
  { upTo, after, dedupWindow, memory, rest, onSetAside }: Restore,
): Promise<SnapshotState | undefined> {
  if (place === undefined) return undefined;
  for (const { path, sequence } of await snapshotsIn(place.folder).catch(noneIfUnreadable)) {
    if (sequence > upTo || sequence <= after) continue;
    try {
      const snapshot = await openSnapshot(path);
      assertOfCollection(snapshot, config, dedupWindow);
      return await restoreSnapshot(snapshot, {
        ...{ config, memory, dedupWindow, contents, read: readHere, readers: 1, rest },
      });
    } catch (error) {
      if (error instanceof DamagedSnapshot) await tryToSetAside(path, error, onSetAside);
      else if (!(error instanceof UnusableSnapshot || isOfSystem(error))) throw error;
    }
  }
  return undefined;
}

/** Ignores a disk that fails, since the log has everything that a snapshot has. */
function noneIfUnreadable(error: unknown): [] {
  if (!isOfSystem(error)) throw error;
  return [];
}

/** Tries to rename a damaged snapshot. If it cannot be renamed, it is found damaged again the next time. */
async function tryToSetAside(path: string, { message: reason }: Error, report: Restore['onSetAside']): Promise<void> {
  try {
    report({ name: await setAside(path), reason });
  } catch (error) {
    if (!isOfSystem(error)) throw error;
  }
}

/** Writes a snapshot, durable when this resolves. Throws if it cannot be written, and then leaves no file. */
export async function saveSnapshot(
  { config, contents }: Opening,
  { folder }: SnapshotPlace,
  made: SnapshotState,
  rest: () => Promise<void>,
): Promise<SavedSnapshot> {
  const { sequence } = made.history;
  await makeDirectory(folder);
  const path = snapshotPath(folder, sequence);
  const written = { ...made, collectionId: config.id, madeAtMs: systemClock.nowMs(), contents };
  return { sequence, sizeBytes: await writeSnapshot(path, written, rest) };
}
