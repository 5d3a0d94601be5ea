/** Snapshots as the thread of past states makes them and goes on from them. */
import { dirname } from 'node:path';
import { type Clock, systemClock } from '../../shared/clock.js';
import { codeOf, makeDirectory } from '../../shared/durable.js';
import type { Restore, SavedSnapshot, SnapshotSource, SnapshotState, Snapshots } from '../past/snapshots.js';
import { assertOfCollection } from './belonging.js';
import { DamagedSnapshot, UnusableSnapshot } from './damagedSnapshot.js';
import { setAside, snapshotPath, snapshotsIn } from './folder.js';
import { readHere } from './readJob.js';
import { restoreSnapshot } from './restore.js';
import { openSnapshot } from './snapshotFile.js';
import { writeSnapshot } from './writeSnapshot.js';

export class FolderSnapshots implements Snapshots {
  constructor(private readonly clock: Clock = systemClock) {}

  /** That they belong to the log was seen when the collection was opened. */
  async restore({ config, place }: SnapshotSource, wanted: Restore): Promise<SnapshotState | undefined> {
    const { upTo, after, dedupWindow, memory, rest, onSetAside } = wanted;
    for (const { path, sequence } of await snapshotsIn(place.folder)) {
      if (sequence > upTo || sequence <= after) continue;
      try {
        const snapshot = await openSnapshot(path);
        assertOfCollection(snapshot, config, dedupWindow);
        const { clock } = this;
        return await restoreSnapshot(snapshot, {
          config,
          memory,
          dedupWindow,
          read: readHere,
          readers: 1,
          clock,
          rest,
        });
      } catch (error) {
        if (error instanceof DamagedSnapshot) onSetAside({ name: await setAside(path), reason: error.message });
        else if (!(error instanceof UnusableSnapshot || codeOf(error) === 'ENOENT')) throw error;
      }
    }
    return undefined;
  }

  async write(
    { config, place }: SnapshotSource,
    made: SnapshotState,
    rest: () => Promise<void>,
  ): Promise<SavedSnapshot> {
    const { sequence } = made.history;
    const path = snapshotPath(place.folder, sequence);
    await makeDirectory(dirname(path));
    return { sequence, sizeBytes: await writeSnapshot(path, config.id, made, this.clock.nowMs(), rest) };
  }
}
