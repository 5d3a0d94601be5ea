/**
 * The background check of vault entries. It finds damage while it can still be repaired, also of keys that are not used.
 *
 *   At start: every entry, if the vault is in a folder of this process.
 *
 *   Every minute: the master key's entry, and this machine's file of it.
 *
 *   Every hour, and after an opening: the keys of the live records of an open collection, each unwrapped to its data key.
 *
 * Damage that is found has the consequences of damage that a call meets. A vault that cannot be reached is read again later.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { type CallCount, CheckPace } from '../../shared/scheduling/checkPace.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import type { DamageReports } from '../capacity/damageReports.js';
import type { Collection } from '../collection/collection.js';
import type { CollectionHandle } from '../collection/collectionHandle.js';
import type { DataKeys } from '../vault/dataKeys.js';

const ROUND_MS = 5_000;
const AGAIN_MS = 3_600_000;
const MASTER_AGAIN_MS = 60_000;
/** Cost of an entry, in bytes of a log that are checked in that time. */
const ENTRY_COST_BYTES = 8 << 10;

interface VaultCheckOptions {
  readonly vault: Pick<VaultStore, 'inspect'>;
  readonly keys: Pick<DataKeys, 'problem'>;
  readonly damages: DamageReports;
  /** The collections that this shard owns. */
  readonly handles: () => Iterable<CollectionHandle>;
  /** Count of the shard's calls. The check is slow while there are many. */
  readonly calls: CallCount;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class VaultCheck {
  readonly #rounds = new PeriodicTask(() => this.round(), ROUND_MS);
  readonly #stopping = new AbortController();
  readonly #pace: CheckPace;
  /** Time at which the entries of an open collection were last found whole. */
  readonly #wholeMs = new WeakMap<Collection, number>();
  #masterMs = Number.NEGATIVE_INFINITY;
  #inspecting: Promise<void> | undefined;

  constructor(private readonly options: VaultCheckOptions) {
    this.#pace = new CheckPace(options.calls, options.clock);
  }

  start(): void {
    this.#inspecting = this.inspect();
    void this.#rounds.now();
    this.#rounds.start();
  }

  /** Ends the check. Resolves when it no longer reads an entry. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds.stop();
    await this.#inspecting;
  }

  /** Reads the whole vault, and opens the collections with records under a damaged key. */
  async inspect(): Promise<void> {
    const { vault, handles, logger } = this.options;
    const damaged: { readonly project: string; readonly keyId: string }[] = [];
    try {
      await vault.inspect((project, keyId) => damaged.push({ project, keyId }), this.#rest);
      for (const { project, keyId } of damaged) {
        logger.error({ project, keyId }, 'a vault entry does not verify');
        for (const handle of [...handles()].filter(({ config }) => config.project === project))
          await this.#checkFor(handle, keyId);
      }
    } catch (error) {
      this.#warn(error, 'the vault could not be read');
    }
  }

  /** Looks for records under a damaged key in a collection. Logs a failure, so that other collections are checked too. */
  async #checkFor(handle: CollectionHandle, keyId: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    try {
      await (await handle.opened()).checkKey(keyId);
    } catch (error) {
      this.#warn(error, 'a damaged vault entry could not be looked for in a collection');
    }
  }

  /** Checks the master key and the open collections, if they are due. */
  async round(): Promise<void> {
    const { handles, clock } = this.options;
    await this.#checkMaster();
    for (const { openCollection } of [...handles()]) {
      if (this.#stopping.signal.aborted) return;
      if (openCollection === undefined || !this.#isDue(openCollection)) continue;
      try {
        if (await openCollection.checkKeys(this.#rest)) this.#wholeMs.set(openCollection, clock.monotonicMs());
      } catch (error) {
        this.#warn(error, 'the vault entries of a collection could not be checked; this is retried');
      }
    }
  }

  async #checkMaster(): Promise<void> {
    const { keys, damages, clock, logger } = this.options;
    if (clock.monotonicMs() - this.#masterMs < MASTER_AGAIN_MS) return;
    try {
      const reason = await keys.problem();
      this.#masterMs = clock.monotonicMs();
      damages.mended(null, 'vault');
      if (reason !== undefined) {
        damages.report({ collectionId: null, part: 'vault', reason });
        logger.error({ reason }, 'encrypted records cannot be written or read');
      }
    } catch (error) {
      this.#warn(error, 'the master key could not be checked; this is retried');
    }
  }

  #isDue(collection: Collection): boolean {
    const wholeMs = this.#wholeMs.get(collection);
    return wholeMs === undefined || this.options.clock.monotonicMs() - wholeMs >= AGAIN_MS;
  }

  readonly #rest = async (entries: number): Promise<void> => {
    await this.#pace.rest(entries * ENTRY_COST_BYTES, this.#stopping.signal);
  };

  /** Logs a problem, except a quarantine, which the handle of the collection logs. */
  #warn(error: unknown, problem: string): void {
    if (this.#stopping.signal.aborted || (error instanceof VouchError && error.code === 'internal_error')) return;
    this.options.logger.warn({ error: messageOf(error) }, problem);
  }
}
