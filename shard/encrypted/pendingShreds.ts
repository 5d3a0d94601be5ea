/**
 * Shreds that were cut short after the key was destroyed: the collections that this shard serves commit what their logs
 * do not state yet, and the vault erases and completes what servers that were away missed. Costs nothing where no key is
 * being shredded, and no server missed anything.
 */
import type { Bucket, Watch } from '../../shared/bucket/bucket.js';
import type { CollectionConfig } from '../../shared/calls.js';
import { catalogEntryOf, catalogKey } from '../../shared/catalogEntry.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import { whenAvailable } from '../../shared/startUp.js';
import { strikeOff } from '../../shared/vault/pendingShred.js';
import type { ShredMark, ShredMarks } from '../../shared/vault/shredMarks.js';
import { forget, type VaultStore } from '../../shared/vault/vaultStore.js';
import type { HostedCollection } from '../hostedCollection.js';

const ROUND_MS = 5_000;
const COMMIT_MS = 10_000;
/** A mark with nothing pending is of a shred that has yet to begin, or that has died before it did. */
const FORGOTTEN_AFTER_MS = 600_000;

export interface PendingShredsParts {
  readonly vault: VaultStore;
  readonly marks: ShredMarks;
  /** BUCKETS.catalog. */
  readonly catalog: Bucket;
  /** What this shard serves. */
  readonly hosted: () => Iterable<HostedCollection>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class PendingShreds {
  readonly #rounds = new Rounds(() => this.sweep(), ROUND_MS);
  readonly #marked = new Map<string, ShredMark>();
  #watch: Watch | undefined;
  #sweeping: Promise<void> | undefined;
  /** What was asked for while a sweep was under way may have come too late for it. */
  #again = false;

  constructor(private readonly parts: PendingShredsParts) {}

  /** Resolves when what is pending now is committed, or could not be. */
  async start(): Promise<void> {
    const { marks } = this.parts;
    this.#watch = await whenAvailable('the shreds under way', () => marks.watch(this.#marked), this.parts);
    await this.sweep();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    this.#watch?.stop();
    this.#marked.clear();
    await this.#rounds.stop();
    await this.#sweeping;
  }

  /** Resolves when a sweep that began after this call is over. What fails is told in the log, and left to the next. */
  sweep(): Promise<void> {
    if (this.#marked.size === 0) return this.#sweeping ?? Promise.resolve();
    if (this.#sweeping === undefined) this.#sweeping = this.#sweepAll();
    else this.#again = true;
    return this.#sweeping;
  }

  async #sweepAll(): Promise<void> {
    do {
      this.#again = false;
      const failures: unknown[] = [];
      for (const mark of [...this.#marked.values()]) await this.#follow(mark).catch((error) => failures.push(error));
      if (failures.length > 0)
        this.parts.logger.warn(
          { keys: failures.length, error: messageOf(failures[0]) },
          'vault entries are not settled everywhere yet; this is tried again',
        );
    } while (this.#again);
    this.#sweeping = undefined;
  }

  async #follow(mark: ShredMark): Promise<void> {
    const { vault, marks, clock } = this.parts;
    const { project, keyId } = mark;
    const stored = await vault.get(project, keyId);
    forget(stored);
    const pendingIds = stored?.entry.pendingIds ?? [];
    const left = pendingIds.length === 0 ? [] : await this.#finish(mark, pendingIds);
    await vault.settle(project, keyId);
    const isDone = pendingIds.length > 0 || clock.nowMs() - mark.sinceMs > FORGOTTEN_AFTER_MS;
    if (left.length === 0 && isDone) await marks.clear(project, keyId);
  }

  /** What is still pending then, at other shards too. */
  async #finish({ project, keyId }: ShredMark, pendingIds: readonly number[]): Promise<readonly number[]> {
    const { hosted, clock, logger, vault } = this.parts;
    const envelope = { requestId: 'shred', deadlineMs: clock.nowMs() + COMMIT_MS };
    const done: number[] = [];
    for (const collection of [...hosted()].filter(({ config }) => pendingIds.includes(config.id))) {
      const { id: collectionId } = collection.config;
      try {
        if (await this.#isBeingImported(collection.config)) continue;
        await collection.write({ op: 'shredKey', keyId }, envelope);
        done.push(collectionId);
        logger.info({ collectionId, keyId }, 'a pending shred is committed');
      } catch (error) {
        logger.warn({ collectionId, keyId, error: messageOf(error) }, 'a pending shred is not committed yet');
      }
    }
    return strikeOff(vault, project, keyId, done);
  }

  /** Its log must be the one it is imported from until it is all there. */
  async #isBeingImported({ origin, project, name }: CollectionConfig): Promise<boolean> {
    const entry = origin === undefined ? undefined : await this.parts.catalog.get(catalogKey(project, name));
    return entry !== undefined && catalogEntryOf(entry).imported?.finished === false;
  }
}
