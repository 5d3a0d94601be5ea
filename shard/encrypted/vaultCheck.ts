/**
 * Vault entries are read when their keys are used. Here they are read although nobody uses them, in the background and at
 * leisure, so that damage there is found while it can still be mended.
 *
 *   at start      every entry of a vault that this process holds itself, a folder
 *   every minute  the master key: its entry, and this machine's file of it
 *   then          the keys that live records of an open collection stand under, each entry opened down to its data key; again
 *                 when the collection is opened anew, and every hour
 *
 * What is found has the consequences of what is found in use. A vault that cannot be reached is asked again later.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, VouchError } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import type { VaultStore } from '../../shared/vault/vaultStore.js';
import type { Collection } from '../collection/collection.js';
import type { DamageReports } from '../damageReports.js';
import type { HostedCollection } from '../hostedCollection.js';
import { type CallCount, CheckPace } from '../past/checkPace.js';
import type { DataKeys } from '../vault/dataKeys.js';

const ROUND_MS = 5_000;
const AGAIN_MS = 3_600_000;
const MASTER_AGAIN_MS = 60_000;
/** What one entry costs, in bytes of a log that is checked in the same time. */
const ENTRY_COST_BYTES = 8 << 10;

export interface VaultCheckParts {
  readonly vault: Pick<VaultStore, 'inspect'>;
  readonly keys: Pick<DataKeys, 'problem'>;
  readonly damages: DamageReports;
  /** What this shard serves. */
  readonly hosted: () => Iterable<HostedCollection>;
  /** Of the shard: the check gives way to them. */
  readonly calls: CallCount;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class VaultCheck {
  readonly #rounds = new Rounds(() => this.round(), ROUND_MS);
  readonly #stopping = new AbortController();
  readonly #pace: CheckPace;
  /** When a collection was found whole; it is another one when it is opened anew. */
  readonly #wholeMs = new WeakMap<Collection, number>();
  #masterMs = Number.NEGATIVE_INFINITY;
  #inspecting: Promise<void> | undefined;

  constructor(private readonly parts: VaultCheckParts) {
    this.#pace = new CheckPace(parts.calls, parts.clock);
  }

  start(): void {
    this.#inspecting = this.inspect();
    void this.#rounds.now();
    this.#rounds.start();
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#rounds.stop();
    await this.#inspecting;
  }

  /** Whoever has records under a damaged key is opened for it. */
  async inspect(): Promise<void> {
    const { vault, hosted, logger } = this.parts;
    const damaged: { readonly project: string; readonly keyId: string }[] = [];
    try {
      await vault.inspect((project, keyId) => damaged.push({ project, keyId }), this.#rest);
      for (const { project, keyId } of damaged) {
        logger.error({ project, keyId }, 'a vault entry does not verify');
        for (const collection of [...hosted()].filter(({ config }) => config.project === project))
          await this.#checkFor(collection, keyId);
      }
    } catch (error) {
      this.#tell(error, 'the vault could not be looked through');
    }
  }

  /** What is wrong with one collection must not keep the others from being looked at. */
  async #checkFor(collection: HostedCollection, keyId: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    try {
      await (await collection.opened()).checkKey(keyId);
    } catch (error) {
      this.#tell(error, 'a damaged vault entry could not be looked for in a collection');
    }
  }

  /** The collections that are open and were not checked lately. */
  async round(): Promise<void> {
    const { hosted, clock } = this.parts;
    await this.#checkMaster();
    for (const { openCollection } of [...hosted()]) {
      if (this.#stopping.signal.aborted) return;
      if (openCollection === undefined || !this.#isDue(openCollection)) continue;
      try {
        if (await openCollection.checkKeys(this.#rest)) this.#wholeMs.set(openCollection, clock.monotonicMs());
      } catch (error) {
        this.#tell(error, 'the vault entries of a collection could not be checked; this is tried again');
      }
    }
  }

  async #checkMaster(): Promise<void> {
    const { keys, damages, clock, logger } = this.parts;
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
      this.#tell(error, 'the master key could not be checked; this is tried again');
    }
  }

  #isDue(collection: Collection): boolean {
    const wholeMs = this.#wholeMs.get(collection);
    return wholeMs === undefined || this.parts.clock.monotonicMs() - wholeMs >= AGAIN_MS;
  }

  readonly #rest = async (entries: number): Promise<void> => {
    await this.#pace.rest(entries * ENTRY_COST_BYTES, this.#stopping.signal);
  };

  /** A quarantine has been told of where it began. */
  #tell(error: unknown, problem: string): void {
    if (this.#stopping.signal.aborted || (error instanceof VouchError && error.code === 'internal_error')) return;
    this.parts.logger.warn({ error: messageOf(error) }, problem);
  }
}
