/**
 * The snapshots of a shard: `<folder>/<collection id>/`; see `folder.ts`. Any of them can be made again from the log,
 * so a doubtful one is set aside and not repaired.
 *
 * ```text
 * Being written ──(process ends)──▶ removed at the next start.
 * Complete ──▶ more than `keep` newer ones, collection deleted or moved ──▶ removed.
 *    └──▶ does not verify ──▶ ….damaged, kept until the collection is removed.
 * ```
 */
import { basename, join } from 'node:path';
import {
  deleteEmptyDirectory,
  deleteFile,
  deleteLeftovers,
  deleteTree,
  makeDirectory,
} from '../../shared/files/durable.js';
import type { Logger } from '../../shared/logger.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';
import { namesIn, type SnapshotName, setAside, snapshotsIn } from './folder.js';

const COLLECTION = /^[1-9]\d{0,15}$/;
/** Folders read at a time: enough to keep a disk busy. */
const FOLDERS_AT_ONCE = 16;

type OnDamagedSnapshot = (damage: { readonly collectionId: number; readonly reason: string }) => void;

export class SnapshotStore {
  /** Bytes of each collection's snapshots, except those set aside. */
  readonly #sizes = new Map<number, number>();

  private constructor(
    private readonly folder: string,
    private readonly keep: number,
    private readonly logger: Logger,
    private readonly onDamage: OnDamagedSnapshot,
  ) {}

  /** Makes the folder if it is missing, and removes partly written files. */
  static async open(
    folder: string,
    keep: number,
    logger: Logger,
    onDamage: OnDamagedSnapshot = () => undefined,
  ): Promise<SnapshotStore> {
    await makeDirectory(folder);
    const store = new SnapshotStore(folder, keep, logger, onDamage);
    await mapConcurrent(await store.#collections(), FOLDERS_AT_ONCE, async (id) => {
      await deleteLeftovers(store.folderOf(id), { isIdle: true });
      if ((await store.newestFirst(id)).length === 0) await deleteEmptyDirectory(store.folderOf(id));
    });
    return store;
  }

  folderOf(collectionId: number): string {
    return join(this.folder, String(collectionId));
  }

  /** Returns the snapshots in the folder, not verified. */
  async newestFirst(collectionId: number): Promise<SnapshotName[]> {
    const found = await snapshotsIn(this.folderOf(collectionId));
    this.#sizes.set(collectionId, sum(found.map(({ sizeBytes }) => sizeBytes)));
    return found;
  }

  /** Bytes as of the last look at the folder. */
  bytesOf(collectionId: number): number {
    return this.#sizes.get(collectionId) ?? 0;
  }

  get totalBytes(): number {
    return sum([...this.#sizes.values()]);
  }

  async prune(collectionId: number): Promise<void> {
    for (const { path } of (await this.newestFirst(collectionId)).slice(this.keep)) await deleteFile(path);
    await this.newestFirst(collectionId);
  }

  async setAside(collectionId: number, path: string, reason: string): Promise<void> {
    this.wasSetAside(collectionId, { name: basename(path), reason, aside: await setAside(path) });
    await this.newestFirst(collectionId);
  }

  /** Reports a snapshot that was set aside, here or by the thread that makes snapshots. */
  wasSetAside(collectionId: number, about: { readonly reason: string; readonly [field: string]: string }): void {
    this.onDamage({ collectionId, reason: about.reason });
    this.logger.warn({ collection: collectionId, ...about }, 'a snapshot is damaged, and was set aside');
  }

  /** Removes the snapshots of a collection that has left the shard. None may be being made. */
  async removeAll(collectionId: number): Promise<void> {
    this.#sizes.delete(collectionId);
    const folder = this.folderOf(collectionId);
    if ((await namesIn(folder)).length > 0) await deleteTree(folder);
    // A snapshot in progress may have been cancelled before it had a file.
    else await deleteEmptyDirectory(folder);
  }

  /** Removes the snapshots of collections that this shard does not own. */
  async sweep(isOurs: (collectionId: number) => boolean): Promise<void> {
    for (const collectionId of await this.#collections()) {
      if (isOurs(collectionId)) continue;
      this.logger.info(
        { collection: collectionId },
        'removing the snapshots of a collection that this shard does not own',
      );
      await this.removeAll(collectionId);
    }
  }

  async #collections(): Promise<number[]> {
    return (await namesIn(this.folder)).filter((name) => COLLECTION.test(name)).map(Number);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
