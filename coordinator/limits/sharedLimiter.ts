/**
 * One count of each project's requests for all coordinators: whoever holds the lease counts, the others ask it.
 *
 *   asking ──takes the lease──▶ counting ──loses it──▶ asking
 *
 * While nobody counts, which ends within a lease and a round, each coordinator counts for itself. Both it and the next
 * counter go on from what every coordinator has told to have let through: see `sharedGrants.ts`.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { Rounds } from '../../shared/rounds.js';
import { LIMITS_SUBJECT } from '../../shared/subjects.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Serving, Transport } from '../../shared/transport/transport.js';
import { pack, unpack } from '../../shared/wire.js';
import { type Leadership, RENEW_EVERY_MS } from '../cluster/leadership.js';
import type { Category, Decision, Limiter, LocalLimiter } from './limiter.js';
import type { SharedGrants } from './sharedGrants.js';

/** An answer takes a tenth of a millisecond. One that comes later than this was counted there and is counted here again. */
const ASK_MS = 1_000;
/** Of a counter that does not answer nothing is asked for so long: only the first to meet it wait. */
const AVOID_MS = 1_000;

export class SharedLimiter implements Limiter {
  #serving: Serving | undefined;
  #avoidUntilMs = Number.NEGATIVE_INFINITY;
  readonly #rounds = new Rounds(() => this.#tend(), RENEW_EVERY_MS);

  constructor(
    private readonly local: LocalLimiter,
    private readonly grants: SharedGrants,
    private readonly leadership: Leadership,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    await this.grants.start();
    await this.#tend();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#serving?.stop();
    // Before another takes the lease.
    await this.grants.stop();
    await this.leadership.release().catch(() => undefined);
  }

  take(project: string, category: Category): Decision | Promise<Decision> {
    if (!this.local.limits(project)) return this.local.take(project, category);
    const countsHere = this.#serving !== undefined && this.leadership.held;
    return countsHere || this.clock.monotonicMs() < this.#avoidUntilMs
      ? this.#count(project, category)
      : this.#ask(project, category);
  }

  #count(project: string, category: Category): Decision {
    const decision = this.local.take(project, category);
    if (decision.retryAfterSecs === 0) this.grants.add(project, category);
    return decision;
  }

  async #ask(project: string, category: Category): Promise<Decision> {
    const envelope = { requestId: 'limits', deadlineMs: this.clock.nowMs() + ASK_MS };
    try {
      return unpack(await this.transport.request(LIMITS_SUBJECT, pack([project, category]), envelope)) as Decision;
    } catch (error) {
      this.logger.debug({ error: messageOf(error) }, 'no coordinator counts for all at the moment');
      if (!(error instanceof NobodyServes)) this.#avoidUntilMs = this.clock.monotonicMs() + AVOID_MS;
      return this.#count(project, category);
    }
  }

  async #tend(): Promise<void> {
    try {
      if (await this.leadership.hold()) {
        this.#serving ??= await this.transport.serve(LIMITS_SUBJECT, async ({ body }) => {
          // Who slept through the end of the lease is asked until it notices.
          if (!this.leadership.held) throw unavailable('this coordinator does not count any more');
          const [project, category] = unpack(body) as [string, Category];
          return pack(this.#count(project, category));
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
