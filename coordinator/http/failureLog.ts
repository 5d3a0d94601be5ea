import type { Clock } from '../../shared/clock.js';
import type { VouchError } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';

const LINES_PER_SECOND = 10;
const SECOND_MS = 1_000;

/** Logs failures of the service, with a bound per second: under overload a line would cost more than the answer. */
export class FailureLog {
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #unlogged = 0;

  constructor(
    private readonly logger: Logger,
    private readonly clock: Clock,
  ) {}

  note(requestId: string, { code, message }: VouchError): void {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.#sinceMs >= SECOND_MS) {
      this.#sinceMs = nowMs;
      this.#lines = 0;
    }
    if (this.#lines >= LINES_PER_SECOND) {
      this.#unlogged += 1;
      return;
    }
    this.#lines += 1;
    const before = this.#unlogged === 0 ? {} : { unloggedBefore: this.#unlogged };
    this.#unlogged = 0;
    this.logger.warn({ requestId, code, error: message, ...before }, 'request failed');
  }
}
