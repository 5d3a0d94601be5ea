/** A writer of the service log over a log in memory, and shards whose answers the test sets. */
import { pino } from 'pino';
import { checkpointEntry } from '../../../coordinator/serviceLog/entry.js';
import { LogStore } from '../../../coordinator/serviceLog/logStore.js';
import { LogWriter } from '../../../coordinator/serviceLog/writer.js';
import type { Clock } from '../../../shared/clock.js';
import { unavailable } from '../../../shared/errors/errors.js';
import { SERVICE_LOG_ID } from '../../../shared/log/eventLog.js';
import { Metrics } from '../../../shared/metrics/metrics.js';
import type { CollectionAccessHead } from '../../../shared/protocol/access.js';
import type { ProofResults } from '../../../shared/protocol/proofs.js';
import { type LogEntry, parseEntry } from '../../../verifier/index.js';
import { ScriptedLogs } from './scriptedLogs.js';

/** Rounds run only on request. */
const NEVER_MS = 1e9;
const SOON_MS = 1_000;
const HASH = 'ab'.repeat(32);

/** The test sets the clock, but waits still take real time. */
class SetClock implements Clock {
  ms = 1_700_000_000_000;
  nowMs(): number {
    return this.ms;
  }
  monotonicMs(): number {
    return this.ms;
  }
}

export const configHashOf = (id: number): string => id.toString(16).padStart(64, '0');

export class LogWriterRig {
  readonly clock = new SetClock();
  readonly opened: number[] = [];
  /** Last sequences by id: of collections in memory, and of those whose logs are read next. */
  readonly open = new Map<number, number>();
  readonly unseen = new Map<number, number>();
  readonly accessHeads: CollectionAccessHead[] = [];
  /** Ids in the catalog. */
  readonly listed = new Set<number>();
  readonly erased = new Set<number>();
  readonly broken = new Set<number>();
  firstId = 1;
  /** Lines logged as errors. */
  readonly errors: string[] = [];
  /** Runs before an answer about sequences, which keeps the state from the request. */
  meanwhile = async (): Promise<void> => {};

  private constructor(
    readonly store: LogStore,
    private readonly writer: { value?: LogWriter },
  ) {}

  static async make(): Promise<LogWriterRig> {
    const log = await new ScriptedLogs().open(SERVICE_LOG_ID);
    const writer: { value?: LogWriter } = {};
    const rig: LogWriterRig = new LogWriterRig(
      new LogStore(log, { nowMs: () => 0, monotonicMs: () => 0 }, () => 0),
      writer,
    );
    writer.value = new LogWriter({
      store: rig.store,
      sources: rig.#sources(),
      mayWrite: async () => true,
      firstId: () => rig.firstId,
      onAppended: () => {},
      everyMs: NEVER_MS,
      metrics: new Metrics('coordinator'),
      clock: rig.clock,
      logger: pino({ level: 'error' }, { write: (line: string) => void rig.errors.push(JSON.parse(line).msg) }),
    });
    return rig;
  }

  round(): Promise<void> {
    return this.writer.value!.now();
  }

  look(): Promise<void> {
    return this.writer.value!.lookNow();
  }

  /** Appends like another coordinator that led until a moment ago. */
  async appendElsewhere(id: number, size: number): Promise<void> {
    await this.store.append([checkpointEntry(this.#checkpointOf(id, size))], SOON_MS);
  }

  /** All entries of the log. */
  async entries(): Promise<LogEntry[]> {
    const { size } = this.store.tree;
    return size === 0 ? [] : (await this.store.entries(0, size)).map(parseEntry);
  }

  #sources(): ConstructorParameters<typeof LogWriter>[0]['sources'] {
    return {
      leads: true,
      greatestId: 0,
      openSequences: async () => {
        const found = new Map(this.open);
        await this.meanwhile();
        return found;
      },
      accessHeads: async () => this.accessHeads,
      withRetention: () => [],
      trimAccess: async () => 0,
      unseenSequences: async () => {
        const found = new Map(this.unseen);
        this.unseen.clear();
        await this.meanwhile();
        return found;
      },
      checkpoint: async (id) => this.#checkpoint(id),
      isListed: (id) => this.listed.has(id) || this.erased.has(id),
      isMissing: async (id) => !this.listed.has(id) && !this.erased.has(id),
      erased: () => [...this.erased],
      forgetErased: async (id) => void this.erased.delete(id),
    };
  }

  /** Answer of the owner, with one event more than was reported for a collection that is not open. */
  #checkpoint(id: number): ProofResults['checkpoint'] {
    this.opened.push(id);
    if (this.broken.has(id)) throw unavailable('the collection cannot be opened');
    return this.#checkpointOf(id, (this.open.get(id) ?? 1) + 1);
  }

  #checkpointOf(id: number, size: number): ProofResults['checkpoint'] {
    const lines = [
      'vouch checkpoint v1',
      `p/c${id}/${id}/${configHashOf(id)}`,
      size,
      HASH,
      HASH,
      HASH,
      this.clock.ms,
      '',
    ];
    return { text: lines.join('\n'), publicKey: new Uint8Array(32), signature: new Uint8Array(64) };
  }
}
