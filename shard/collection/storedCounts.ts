/** The counts of a collection that is not open: read from the end of its log and from its watermark, and kept until `forget`. */
import { Damaged, noticingDamage } from '../../shared/log/damaged.js';
import { countAtHead, type LogCount, NOTHING_COUNTED } from '../../shared/log/logCount.js';
import type { CollectionConfig } from '../../shared/model/collectionConfig.js';
import type { HeldBytes } from '../../shared/model/quotas.js';
import type { CollectionContext } from './collectionContext.js';

interface Counted {
  readonly count: LogCount;
  /** When to read again, on the monotonic clock. Infinite once the log cannot lack a commit of an earlier owner. */
  readonly againMs: number;
}

export class StoredCounts {
  #counted: Counted | undefined;
  /** From the watermark of this sequence. */
  #held: { readonly sequence: number; readonly bytes: HeldBytes } | undefined;
  /** How often the counts were forgotten. A reading that began before the last time is not kept. */
  #forgotten = 0;
  /** When the ownership began, on the monotonic clock. */
  #begunMs = 0;

  /** `onDamage` is called if the log does not verify. */
  constructor(
    private readonly config: CollectionConfig,
    private readonly context: Pick<CollectionContext, 'logs' | 'watermarks' | 'clock'>,
    private readonly onDamage: (damage: Damaged) => void,
  ) {}

  beginOwnership(nowMs: number): void {
    this.#begunMs = nowMs;
    this.forget();
  }

  forget(): void {
    this.#counted = undefined;
    this.#held = undefined;
    this.#forgotten++;
  }

  /** The counts as far as they are known without reading anything. */
  get known(): LogCount | undefined {
    return this.#counted?.count;
  }

  /** Whether the counts are known, and earlier owners cannot change them any more. */
  get isFinal(): boolean {
    return this.#counted?.againMs === Number.POSITIVE_INFINITY;
  }

  /** Zeros if the log does not verify. */
  async count(): Promise<LogCount> {
    const isOver = this.#counted !== undefined && this.context.clock.monotonicMs() >= this.#counted.againMs;
    if (isOver) this.forget();
    return (this.#counted ?? (await this.#read())).count;
  }

  /** The bytes besides the log after event `sequence`; undefined if the watermark is of another sequence, as after a crash. */
  async heldBytes(sequence: number): Promise<HeldBytes | undefined> {
    if (this.#held?.sequence === sequence) return this.#held.bytes;
    const noted = await this.context.watermarks.read(this.config.id);
    const bytes = noted?.sequence === sequence ? noted.held : undefined;
    this.#held = bytes && { sequence, bytes };
    return bytes;
  }

  /** Soon after an ownership begins, the log may still lack commits of the earlier owner. */
  async #read(): Promise<Counted> {
    const forgotten = this.#forgotten;
    const { logs, clock } = this.context;
    const { id } = this.config;
    try {
      const log = await noticingDamage(() => logs.open(id));
      try {
        const knownMs = this.#begunMs + log.staleMs;
        const againMs = clock.monotonicMs() < knownMs ? knownMs : Number.POSITIVE_INFINITY;
        const counted = { count: await noticingDamage(() => countAtHead(log, id)), againMs };
        if (forgotten === this.#forgotten) this.#counted = counted;
        return counted;
      } finally {
        await log.close();
      }
    } catch (error) {
      if (!(error instanceof Damaged)) throw error;
      this.onDamage(error);
      return { count: NOTHING_COUNTED, againMs: Number.POSITIVE_INFINITY };
    }
  }
}
