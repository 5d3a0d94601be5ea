/**
 * Completes interrupted shreds, whose key is already destroyed. A shred is pending in a collection until its log has the event.
 * This shard's collections commit it, and the vault erases the entry on servers that were absent. Without pending shreds this
 * costs nothing.
 */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { ShredNote, ShredNotes } from '../../shared/vault/shredNotes.js';
import { forget, strikeOff, type VaultStore } from '../../shared/vault/vaultStore.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import { isBeingImported } from './beingImported.js';

const ROUND_MS = 5_000;
const COMMIT_MS = 10_000;
/**
 * Time after which a shred without pending collections is forgotten: it has been cancelled before it destroyed the key, or has
 * not got so far.
 */
const FORGOTTEN_AFTER_MS = 600_000;

interface PendingShredsOptions {
  readonly vault: VaultStore;
  readonly notes: ShredNotes;
  /** BUCKETS.catalog. */
  readonly catalog: Bucket;
  /** The collections that this shard owns. */
  readonly handles: () => Iterable<CollectionHandle>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PendingShreds {
  readonly #rounds = new PeriodicTask(() => this.sweep(), ROUND_MS);
  readonly #noted = new Map<string, ShredNote>();
  #watch: Watch | undefined;
  #sweeping: Promise<void> | undefined;
  /** Whether another sweep must follow the running one, which may have begun too early for a request. */
  #again = false;

  constructor(private readonly options: PendingShredsOptions) {}

  /** Resolves when each pending shred has been tried once. */
  async start(): Promise<void> {
    const { notes, clock, logger } = this.options;
    this.#watch = await whenAvailable('the shreds under way', () => notes.watch(this.#noted), { clock, logger });
    await this.sweep();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    this.#noted.clear();
    await this.#rounds.stop();
    await this.#sweeping;
  }

  /** Tries all pending shreds. Resolves when a sweep that began after this call has ended. The next sweep repeats failures. */
  sweep(): Promise<void> {
    if (this.#noted.size === 0) return this.#sweeping ?? Promise.resolve();
    if (this.#sweeping === undefined) this.#sweeping = this.#sweepAll();
    else this.#again = true;
    return this.#sweeping;
  }

  async #sweepAll(): Promise<void> {
    do {
      this.#again = false;
      const failures: unknown[] = [];
      for (const note of [...this.#noted.values()]) await this.#follow(note).catch((error) => failures.push(error));
      if (failures.length > 0)
        this.options.logger.warn(
          { keys: failures.length, error: messageOf(failures[0]) },
          'vault entries are not settled everywhere yet; this is retried',
        );
    } while (this.#again);
    this.#sweeping = undefined;
  }

  async #follow(note: ShredNote): Promise<void> {
    const { vault, notes, clock } = this.options;
    const { project, keyId } = note;
    const stored = await vault.get(project, keyId);
    forget(stored);
    const pendingIds = stored?.entry.pendingIds ?? [];
    const left = pendingIds.length === 0 ? [] : await this.#finish(note, pendingIds);
    await vault.settle(project, keyId);
    const isDone = pendingIds.length > 0 || clock.monotonicMs() - note.seenMs > FORGOTTEN_AFTER_MS;
    if (left.length === 0 && isDone) await notes.clear(project, keyId);
  }

  /** Commits the shred in this shard's collections, by the actor that asked for it. Returns all collections in which it is still pending. */
  async #finish({ project, keyId, actor }: ShredNote, pendingIds: readonly number[]): Promise<readonly number[]> {
    const { handles, catalog, clock, logger, vault } = this.options;
    const envelope = { requestId: actor?.requestId ?? 'shred', deadlineMs: clock.nowMs() + COMMIT_MS, actor };
    const done: number[] = [];
    for (const handle of [...handles()].filter(({ config }) => pendingIds.includes(config.id))) {
      const { id: collectionId } = handle.config;
      try {
        if (await isBeingImported(catalog, handle.config)) continue;
        await handle.run({ op: 'shredKey', keyId }, envelope);
        done.push(collectionId);
        logger.info({ collectionId, keyId }, 'a pending shred is committed');
      } catch (error) {
        logger.warn({ collectionId, keyId, error: messageOf(error) }, 'a pending shred is not committed yet');
      }
    }
    return strikeOff(vault, project, keyId, done);
  }
}
