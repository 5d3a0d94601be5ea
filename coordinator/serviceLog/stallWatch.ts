/**
 * Detects that the service log is stalled, for any reason, on the coordinator that writes it. Each stall is logged once.
 *
 * ```text
 * moving ──STALLED_MS without progress, or contradicted──▶ stalled ──progress──▶ moving
 * ```
 */
import type { Clock } from '../../shared/clock.js';
import { counted } from '../../shared/errors/counted.js';
import type { Logger } from '../../shared/logger.js';

/** Time without progress that counts as a stall: longer than a change of leader, or a round with a slow witness. */
export const STALLED_MS = 30_000;

/** The log at one moment. */
export interface LogProgress {
  /** Whether this process writes the log. */
  readonly leads: boolean;
  /** Number of entries. */
  readonly size: number;
  /** Entries of the newest published checkpoint, with the quorum of the policy if there is one. */
  readonly provable: number;
  /** Why the log was found to be rolled back or changed. */
  readonly contradiction: string | undefined;
  /** Time since the writer's last successful round, minus its pause; 0 if the last round succeeded. */
  readonly unwrittenMs: number;
  /** Each witness that does not answer, with the reason. */
  readonly failing: readonly string[];
}

export class StallWatch {
  /** The size that must become provable, and since when. */
  #waiting: { readonly size: number; readonly sinceMs: number } | undefined;
  #isStalled = false;

  constructor(
    private readonly progress: () => LogProgress,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** The result of the last look. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  look(): void {
    const now = this.progress();
    const wasStalled = this.#isStalled;
    this.#isStalled = now.contradiction !== undefined || (now.leads && this.#isBehind(now));
    if (!now.leads) this.#waiting = undefined;
    if (wasStalled && !this.#isStalled && now.leads) this.logger.info('the service log is no longer stalled');
    // A contradiction is logged where it is found.
    if (wasStalled || !this.#isStalled || now.contradiction !== undefined) return;
    this.logger.error({ reason: reasonIn(now) }, 'the service log is stalled');
  }

  #isBehind({ size, provable, unwrittenMs }: LogProgress): boolean {
    const nowMs = this.clock.monotonicMs();
    if (this.#waiting === undefined || provable >= this.#waiting.size)
      this.#waiting = size > provable ? { size, sinceMs: nowMs } : undefined;
    const waitedMs = this.#waiting === undefined ? 0 : nowMs - this.#waiting.sinceMs;
    return Math.max(waitedMs, unwrittenMs) >= STALLED_MS;
  }
}

function reasonIn({ size, provable, unwrittenMs, failing }: LogProgress): string {
  if (unwrittenMs >= STALLED_MS) return `its writer has finished no round for ${Math.floor(unwrittenMs / 1000)} s`;
  const entries = `of ${counted(size, 'entry', 'entries')} ${provable} ${provable === 1 ? 'is' : 'are'} published with the quorum of the policy`;
  return [entries, ...failing].join('; ');
}
