/**
 * One count of each project's requests for all coordinators: whoever holds the lease counts, the others ask it.
 *
 *   asking ──takes the lease──▶ counting ──loses it──▶ asking
 *
 * A new counter begins with full buckets. While none can be reached, each coordinator counts for itself.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import { LIMITS_SUBJECT } from '../../shared/subjects.js';
import type { Serving, Transport } from '../../shared/transport/transport.js';
import { pack, unpack } from '../../shared/wire.js';
import type { Leadership } from '../cluster/leadership.js';
import type { Category, Decision, Limiter, LocalLimiter } from './limiter.js';

const ROUND_MS = 1_000;
/** An answer takes a tenth of a millisecond; a request does not wait longer than this for a counter in trouble. */
const ASK_MS = 250;

export class SharedLimiter implements Limiter {
  #serving: Serving | undefined;
  readonly #rounds = new Rounds(() => this.#tend(), ROUND_MS);

  constructor(
    private readonly local: LocalLimiter,
    private readonly leadership: Leadership,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    await this.#tend();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#serving?.stop();
    await this.leadership.release().catch(() => undefined);
  }

  take(project: string, category: Category): Decision | Promise<Decision> {
    const counts = this.#serving !== undefined && this.leadership.held;
    return counts || !this.local.limits(project) ? this.local.take(project, category) : this.#ask(project, category);
  }

  async #ask(project: string, category: Category): Promise<Decision> {
    const envelope = { requestId: 'limits', deadlineMs: this.clock.nowMs() + ASK_MS };
    try {
      return unpack(await this.transport.request(LIMITS_SUBJECT, pack([project, category]), envelope)) as Decision;
    } catch (error) {
      this.logger.debug({ error: messageOf(error) }, 'no coordinator counts for all at the moment');
      return this.local.take(project, category);
    }
  }

  async #tend(): Promise<void> {
    try {
      if (await this.leadership.hold()) {
        this.#serving ??= await this.transport.serve(LIMITS_SUBJECT, async ({ body }) => {
          const [project, category] = unpack(body) as [string, Category];
          return pack(this.local.take(project, category));
        });
      } else if (this.#serving !== undefined) {
        const serving = this.#serving;
        this.#serving = undefined;
        await serving.stop();
      }
    } catch (error) {
      this.logger.warn({ error: messageOf(error) }, 'the lease on counting requests could not be renewed');
    }
  }
}
