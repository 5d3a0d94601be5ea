/**
 * The failed openings of collections, in BUCKETS.openings. A collection with one is suspect, with several quarantined. See
 * `shared/registry/openings.ts`.
 */
import type { Bucket, Change } from '../../shared/bucket/bucket.js';
import { counted } from '../../shared/errors/counted.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import { commandText } from '../../shared/process/commandText.js';
import {
  failuresKey,
  failuresOf,
  isQuarantined,
  type OpeningFailure,
  storedFailures,
  withFailure,
} from '../../shared/registry/openings.js';
import { mapConcurrent } from '../../shared/scheduling/mapConcurrent.js';

interface Options {
  /** BUCKETS.openings. */
  readonly openings: Bucket;
  /** BUCKETS.owners. */
  readonly owners: Pick<Bucket, 'get'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** The failures of a collection's openings, as of a revision of their entry. */
interface Failed {
  readonly failures: readonly OpeningFailure[];
  readonly revision: number;
}

const AT_ONCE = 16;

export class OpeningFailures {
  readonly #failed = new Map<number, Failed>();

  constructor(
    private readonly options: Options,
    /** Called when the failures of a collection have changed. */
    private readonly onChange: (collectionId: number) => void,
  ) {}

  /** Whether an opening of the collection has failed. */
  has(collectionId: number): boolean {
    return this.#failed.has(collectionId);
  }

  /** Reason for which the collection must not be opened; undefined if it may be. Names no project, collection or shard. */
  quarantineOf(collectionId: number): string | undefined {
    const failures = this.#failed.get(collectionId)?.failures ?? [];
    if (!isQuarantined(failures)) return undefined;
    return `its opening stopped a shard ${counted(failures.length, 'time')}, the last time ${instant(failures)}; to open it again, run ${commandText('keys', `release ${collectionId}`)}`;
  }

  /** Adds a failure, and logs it if it was not known. */
  async add(collectionId: number, failure: OpeningFailure): Promise<void> {
    const { how, shard, alone, step } = failure;
    // A deleted collection has no owner entry. It must leave no failures behind.
    if ((await this.options.owners.get(String(collectionId))) === undefined) return;
    const isNew = await this.#change(collectionId, (failures) => withFailure(failures, failure));
    if (!isNew) return;
    this.options.metrics.count('vouch_openings_failed_total', { how });
    this.options.logger.error(
      { collectionId, shard, how, alone, step },
      'the opening of a collection has cost a shard its lease or its process; if that repeats, the collection is quarantined and ' +
        `answers nothing until ${commandText('keys', `release ${collectionId}`)}: docs/operations/damage.md has the causes`,
    );
  }

  /** Removes failures for which `isWrong` returns true, except those of the collections in `kept`. */
  async withdraw(isWrong: (failure: OpeningFailure) => boolean, kept: readonly number[] = []): Promise<void> {
    const others = [...this.#failed.keys()].filter((id) => !kept.includes(id));
    await mapConcurrent(others, AT_ONCE, (id) =>
      this.#change(id, (failures) => failures.filter((failure) => !isWrong(failure))),
    );
  }

  /** Removes the failures of a collection, unless another process has changed them. */
  async forget(collectionId: number): Promise<void> {
    const failed = this.#failed.get(collectionId);
    if (failed === undefined) return;
    const key = failuresKey(collectionId);
    if (await this.options.openings.delete(key, failed.revision)) this.changed(collectionId, undefined);
  }

  /** Receives the current entry of a collection; undefined if it is deleted. */
  changed(collectionId: number, entry: Change['entry']): void {
    if (entry === undefined) this.#failed.delete(collectionId);
    else this.#failed.set(collectionId, { failures: failuresOf(entry), revision: entry.revision });
    this.onChange(collectionId);
  }

  /** Replaces the failures of a collection by the result of `changed`. Returns whether they are different then. */
  async #change(
    collectionId: number,
    changed: (failures: readonly OpeningFailure[]) => readonly OpeningFailure[],
  ): Promise<boolean> {
    const { openings } = this.options;
    const key = failuresKey(collectionId);
    for (;;) {
      const entry = await openings.get(key);
      const before = entry === undefined ? [] : failuresOf(entry);
      const after = changed(before);
      if (after === before || (after.length === before.length && after.every((each, i) => each === before[i])))
        return false;
      if (after.length === 0 && entry !== undefined) {
        if (!(await openings.delete(key, entry.revision))) continue;
        this.changed(collectionId, undefined);
        return true;
      }
      const value = storedFailures(after);
      const revision =
        entry === undefined ? await openings.create(key, value) : await openings.update(key, value, entry.revision);
      if (revision === undefined) continue;
      this.changed(collectionId, { key, value, revision });
      return true;
    }
  }
}

const instant = (failures: readonly OpeningFailure[]): string =>
  new Date(Math.max(...failures.map(({ at_ms }) => at_ms))).toISOString();
