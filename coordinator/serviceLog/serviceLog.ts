/**
 * The log of the service: an append-only tree whose entries are the checkpoints of its collections. Every coordinator reads it
 * and serves identical bytes; the placement leader writes it. See docs/proofs.md#the-service-log.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../config/config.js';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable, type VouchError } from '../../shared/errors/errors.js';
import { ifThere, isThere } from '../../shared/files/durable.js';
import { toHex } from '../../shared/hashing/hash.js';
import { LogDamaged } from '../../shared/log/eventLog.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { Platform } from '../../shared/platform/platform.js';
import { whenAvailable } from '../../shared/process/startUp.js';
import type { StoredCheckpoint } from '../../shared/registry/serviceLog.js';
import { RETRY_MS } from '../../shared/scheduling/retry.js';
import { openSigner, type Signer } from '../../shared/signing/signer.js';
import { LOG_NOW_SUBJECT } from '../../shared/transport/subjects.js';
import type { Envelope, Serving } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import {
  ED25519,
  formatTlogProof,
  formatVerifierKey,
  isQuorum,
  type Policy,
  parseNote,
  parsePolicy,
  type TileName,
  type VerifierKey,
  verifierKey,
} from '../../verifier/index.js';
import type { LogSources } from '../cluster/reports/logSources.js';
import { AccessTrims } from './accessTrims.js';
import { readAccess } from './entry.js';
import { type LoggedAccess, LogStore } from './logStore.js';
import { Published } from './published.js';
import { type LogKey, Publisher } from './publisher.js';
import { hasQuorum } from './quorum.js';
import { type LogProgress, StallWatch } from './stallWatch.js';
import { TILE_WIDTH } from './tree.js';
import { LogWriter } from './writer.js';

const KEY_ID_DIGITS = 16;
/** Interval of checks whether this coordinator is the writer, and whether the log is stalled. */
const SERVING_MS = 1_000;
/** Longest wait for a coordinator that writes the log; leases last two seconds. */
const WRITER_WITHIN_MS = 5_000;
const NOTHING = new Uint8Array(0);

export interface ServiceLogOptions {
  readonly config: Config['serviceLog'];
  readonly platform: Pick<Platform, 'bucket' | 'serviceLog' | 'transport'>;
  readonly sources: Pick<LogSources, keyof LogSources>;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of the log that the HTTP edge uses. */
export type ServedLog = Pick<
  ServiceLog,
  'checkpoint' | 'tile' | 'proveNewest' | 'proveAccess' | 'untilLogged' | 'untilAccessLogged'
>;

/** An entry of a published checkpoint. */
export interface ProvedEntry {
  readonly entry: Uint8Array;
  /** A tlog-proof. */
  readonly proof: string;
}

export class ServiceLog {
  readonly #store: LogStore;
  readonly #writer: LogWriter;
  readonly #publisher: Publisher;
  readonly #stallWatch: StallWatch;
  readonly #trims: AccessTrims;
  #signer: Signer | undefined;
  #logKey: LogKey | undefined;
  /** The newest published checkpoint whose entries this process has read. */
  #served: StoredCheckpoint | undefined;
  /** The last checkpoint stored as witnessed, and whether it has the quorum of the current policy. */
  #judged: { readonly checkpoint: StoredCheckpoint; readonly holds: boolean } | undefined;
  /** Why the log cannot be read. */
  #damage: VouchError | undefined;
  #answering: Serving | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly options: ServiceLogOptions,
    private readonly published: Published,
    private readonly policy: Policy | undefined,
    log: Awaited<ReturnType<Platform['serviceLog']>>,
  ) {
    const { sources, metrics, clock, logger, config } = options;
    this.#store = new LogStore(log, clock, () => this.#provable?.size ?? 0);
    const common = { store: this.#store, metrics, clock, logger };
    this.#publisher = new Publisher({
      ...{ ...common, published, policy, leads: () => sources.leads, logKey: () => this.#logKey },
    });
    this.#writer = new LogWriter({
      ...{ ...common, sources, everyMs: config.everyMs, mayWrite: () => this.#mayWrite() },
      firstId: () => published.identity?.first_collection_id ?? 1,
      onAppended: () => void this.#publisher.now(),
    });
    const covered = async (id: number) => {
      const proved = await this.proveAccess(id);
      return proved && readAccess(proved.entry);
    };
    this.#trims = new AccessTrims({ sources, covered, clock, logger });
    published.onChange = () => void this.#follow();
    this.#stallWatch = new StallWatch(() => this.#progress, clock, logger);
    metrics.gauges(() => ({
      vouch_log_size: this.#store.tree.size,
      vouch_log_published_size: this.#served?.size ?? 0,
      vouch_log_stalled: Number(this.#stallWatch.isStalled),
    }));
  }

  /** Throws an Error of one line if the policy of the witnesses or the key of the log cannot be read. */
  static async start(options: ServiceLogOptions): Promise<ServiceLog> {
    const { platform, config, clock, logger } = options;
    const policy = config.witnesses === '' ? undefined : await readPolicy(config.witnesses);
    const waiting = { clock, logger };
    const published = new Published(await platform.bucket(BUCKETS.serviceLog));
    await whenAvailable('the published checkpoints', () => published.start(), waiting);
    const log = await whenAvailable('the service log', () => platform.serviceLog(), waiting);
    const service = new ServiceLog(options, published, policy, log);
    await service.#open();
    return service;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.published.stop();
    await this.#trims.stop();
    await this.#writer.stop();
    await this.#publisher.stop();
    await this.#answering?.stop();
  }

  /** The newest published checkpoint, a signed note; undefined before the first. Throws the damage of the log. */
  get checkpoint(): string | undefined {
    this.#assertWhole();
    return this.#served?.note;
  }

  /** The bytes of a tile or bundle of the published log; undefined if the log has no such tile. Throws `unavailable`, LogDamaged. */
  async tile({ level, index, width }: TileName): Promise<Uint8Array | undefined> {
    this.#assertWhole();
    const span = TILE_WIDTH ** (level === 'entries' ? 0 : level);
    if ((index * TILE_WIDTH + width) * span > (this.#served?.size ?? 0)) return undefined;
    return level === 'entries' ? this.#store.bundle(index, width) : this.#store.tree.tile(level, index, width);
  }

  /**
   * The newest logged checkpoint of a collection, with its proof. It is proved under the newest checkpoint of the log; if a
   * quorum is configured, under the newest one that has it. Undefined if that checkpoint lacks the collection. Throws
   * `unavailable`, LogDamaged.
   */
  proveNewest(collectionId: number): Promise<ProvedEntry | undefined> {
    return this.#prove(this.#store.collections.get(collectionId)?.indexes);
  }

  /** The newest entry about the access log of a collection, with its proof, like `proveNewest`. */
  proveAccess(collectionId: number): Promise<ProvedEntry | undefined> {
    return this.#prove(this.#store.accesses.get(collectionId)?.indexes);
  }

  /** Proves the newest of these entries that `#provable` contains. */
  async #prove(indexes: readonly number[] | undefined): Promise<ProvedEntry | undefined> {
    this.#assertWhole();
    const provable = this.#provable;
    const index = indexes?.findLast((one) => one < (provable?.size ?? 0));
    if (provable === undefined || index === undefined || provable.size > this.#store.tree.size) return undefined;
    const [entry] = await this.#store.entries(index, index + 1);
    const path = this.#store.tree.inclusion(index, provable.size);
    return { entry: entry!, proof: formatTlogProof({ index, path, checkpoint: provable.note }) };
  }

  /** Asks the writer to log the first `size` events of the collection now, unless the log already proves them. */
  async untilLogged(collectionId: number, size: number, envelope: Envelope): Promise<void> {
    await this.#untilProvable(this.#store.collections.get(collectionId), size, envelope);
  }

  /** Asks the writer to log the first `size` entries of the access log now, like `untilLogged`. */
  async untilAccessLogged(collectionId: number, size: number, envelope: Envelope): Promise<void> {
    await this.#untilProvable(this.#store.accesses.get(collectionId), size, envelope);
  }

  async #untilProvable(logged: LoggedAccess | undefined, size: number, envelope: Envelope): Promise<void> {
    const newest = logged?.indexes.at(-1);
    const isProvable = newest !== undefined && newest < (this.#provable?.size ?? 0);
    if (logged !== undefined && logged.size >= size && isProvable) return;
    await this.#logNow(envelope);
  }

  /** Asks the writer to log and publish all changes. Waits a few seconds for a writer, which may be missing at a start. */
  async #logNow(envelope: Envelope): Promise<void> {
    const { sources, platform, clock } = this.options;
    const untilMs = clock.monotonicMs() + WRITER_WITHIN_MS;
    for (;;) {
      try {
        if (sources.leads) await this.#writeNow();
        else await platform.transport.request(LOG_NOW_SUBJECT, NOTHING, envelope);
        return await this.#follow();
      } catch (error) {
        if (!(error instanceof NotServed) || clock.monotonicMs() >= untilMs) throw error;
      }
      await delay(RETRY_MS.serviceLog);
    }
  }

  async #writeNow(): Promise<void> {
    await this.#writer.now();
    await this.#publisher.now();
  }

  get #progress(): LogProgress {
    return {
      ...{ leads: this.options.sources.leads, size: this.#store.tree.size, provable: this.#provable?.size ?? 0 },
      ...{ contradiction: this.#publisher.stalled, failing: this.#publisher.failing },
      unwrittenMs: this.#writer.unwrittenMs,
    };
  }

  get #provable(): StoredCheckpoint | undefined {
    const { policy } = this;
    if (policy === undefined || policy.quorum === 'none') return this.#served;
    const witnessed = this.published.checkpoint('witnessed');
    // The policy may have changed since the checkpoint was stored.
    if (witnessed !== this.#judged?.checkpoint)
      this.#judged = witnessed && { checkpoint: witnessed, holds: hasQuorum(policy, parseNote(witnessed.note)) };
    return this.#judged?.holds === true ? witnessed : undefined;
  }

  async #open(): Promise<void> {
    const { config, clock, logger } = this.options;
    // A missing key is not made here. The log is bound to its first key, and the folder of one coordinator may not last.
    if (await isThere(config.keyFile)) this.#signer = await openSigner(config.keyFile);
    else logger.warn({ file: config.keyFile }, 'this coordinator has no key of the service log, and does not write it');
    await whenAvailable('the entries of the service log', () => this.#follow(true), { clock, logger });
    // No request is served before this: collections that the first requests create must be in the log from their first event.
    await whenAvailable('the identity of the service log', () => this.#mayWrite(), { clock, logger });
    this.#writer.start();
    this.#publisher.start();
    this.#trims.start();
    this.#timer = setInterval(() => {
      this.#stallWatch.look();
      void this.#answer();
    }, SERVING_MS).unref();
  }

  /** Reads the published entries. `throws`: rejects if the log cannot be reached. */
  async #follow(throws = false): Promise<void> {
    const newest = this.published.checkpoint('newest');
    try {
      if (throws || (newest?.size ?? 0) > this.#store.tree.size) await this.#store.refresh();
      const isHere = newest !== undefined && newest.size <= this.#store.tree.size;
      // A newer checkpoint may have arrived meanwhile.
      if (isHere && newest === this.published.checkpoint('newest')) this.#served = newest;
    } catch (error) {
      if (error instanceof LogDamaged) {
        this.#damage ??= error;
        this.options.logger.error({ error: error.message }, 'the service log does not verify');
      } else if (throws) throw error;
      else this.options.logger.warn({ error: messageOf(error) }, 'the service log could not be read');
    }
  }

  /** Serves requests for an immediate round while this coordinator is the writer, and stops serving them otherwise. */
  async #answer(): Promise<void> {
    const { sources, platform, logger } = this.options;
    try {
      if (sources.leads)
        this.#answering ??= await platform.transport.serve(LOG_NOW_SUBJECT, async () => {
          if (!sources.leads) throw unavailable('this coordinator no longer writes the service log');
          await this.#writeNow();
          return NOTHING;
        });
      else if (this.#answering !== undefined) {
        const answering = this.#answering;
        this.#answering = undefined;
        await answering.stop();
      }
    } catch (error) {
      logger.warn({ error: messageOf(error) }, 'cannot serve requests to log changes at once');
    }
  }

  /** Whether this process has the key of the log, and nothing shows that the log was rolled back. */
  async #mayWrite(): Promise<boolean> {
    if (this.#damage !== undefined || this.#publisher.stalled !== undefined || this.#signer === undefined) return false;
    this.#logKey ??= await this.#identified(this.#signer);
    // While published entries are missing here, nothing is written. The publisher finds out whether they are lost.
    const isWhole = !this.#publisher.isBehind && this.published.size <= this.#store.tree.size;
    return isWhole && this.#logKey !== undefined;
  }

  async #identified(signer: Signer): Promise<LogKey | undefined> {
    const { config, sources, logger } = this.options;
    const publicKey = toHex(signer.publicKey);
    const { name: origin } = logKeyOf(config.origin, signer.publicKey);
    const first = sources.greatestId + 1;
    const identity = await this.published.identify({ origin, public_key: publicKey, first_collection_id: first });
    if (identity.public_key !== publicKey || (config.origin !== '' && identity.origin !== origin)) {
      logger.error(
        { origin: identity.origin, publicKey: identity.public_key, file: config.keyFile },
        'the service log has another key or origin than this coordinator, which does not write it: give all coordinators one VOUCH_LOG_KEY_FILE and one VOUCH_LOG_ORIGIN',
      );
      this.#signer = undefined;
      return undefined;
    }
    const key = logKeyOf(identity.origin, signer.publicKey);
    const logs = this.policy?.logs ?? [];
    if (logs.length > 0 && !logs.some((log) => formatVerifierKey(log.key) === formatVerifierKey(key)))
      logger.error(
        { key: formatVerifierKey(key), file: config.witnesses },
        'the policy of VOUCH_WITNESSES names other logs, not this one: readers with this policy accept no checkpoint of this log',
      );
    logger.info({ key: formatVerifierKey(key) }, 'this coordinator has the key of the service log');
    return { key, signer };
  }

  #assertWhole(): void {
    if (this.#damage !== undefined) throw this.#damage;
  }
}

/** The verifier key of the log. Its name is the origin; without one, a name is derived from the key. */
const logKeyOf = (origin: string, publicKey: Uint8Array): VerifierKey =>
  verifierKey(origin || `vouch/${toHex(publicKey).slice(0, KEY_ID_DIGITS)}`, ED25519, publicKey);

/** The verifier key of a service log, for policies. `origin`: the setting. */
export const logVerifierKey = (origin: string, publicKey: Uint8Array): string =>
  formatVerifierKey(logKeyOf(origin, publicKey));

async function readPolicy(file: string): Promise<Policy> {
  try {
    const text = await ifThere(readFile(file, 'utf8'));
    if (text === undefined) throw new Error('the file does not exist');
    const policy = parsePolicy(text);
    const asked = policy.witnesses.filter(({ url }) => url !== undefined).map(({ name }) => name);
    if (!isQuorum(policy, new Set(asked)))
      throw new Error(`its quorum ${policy.quorum} needs witnesses that have no URL and cannot be asked`);
    return policy;
  } catch (error) {
    throw new Error(`VOUCH_WITNESSES is ${file}: ${messageOf(error)}`);
  }
}
