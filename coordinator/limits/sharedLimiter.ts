/**
 * One count of each project's requests for all coordinators. The holder of the lease counts, the others ask it.
 *
 * ```text
 * asking ──takes the lease──▶ counting ──loses it──▶ asking
 * ```
 *
 * Without a holder, each coordinator counts for itself. Each publishes the requests that it has admitted, its grants, to all
 * others. Local counts and the next holder's count continue from these. A grant is passed to the connection before its request
 * is answered, so a killed coordinator loses only the grants of its last instant.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf, unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import { pack, unpack } from '../../shared/protocol/wire.js';
import { PeriodicTask } from '../../shared/scheduling/periodicTask.js';
import { GRANTS_KNOWN_SUBJECT, GRANTS_SUBJECT, LIMITS_SUBJECT } from '../../shared/transport/subjects.js';
import type { Serving, Transport } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import { type Leadership, RENEW_EVERY_MS } from '../cluster/members/leadership.js';
import type { Category, Decision, Limiter, LocalLimiter, UntilFull } from './limiter.js';

/** Longest wait for an answer, which usually takes 0.1 ms. A request whose answer arrives later is counted twice. */
const ASK_MS = 1_000;
/** Pause after a counter does not answer, so that only the first requests wait for it. */
const AVOID_MS = 1_000;
/** Largest number of projects in a message, far below its size limit. */
const PROJECTS_PER_MESSAGE = 4_096;

type Grants = [project: string, reads: number, writes: number];
type Message = readonly [sender: string, grants: readonly Grants[]];

export class SharedLimiter implements Limiter {
  #counting: Serving | undefined;
  readonly #sharing: Serving[] = [];
  #unsent = new Map<string, Grants>();
  #avoidUntilMs = Number.NEGATIVE_INFINITY;
  readonly #rounds = new PeriodicTask(() => this.#renew(), RENEW_EVERY_MS);

  constructor(
    private readonly local: LocalLimiter,
    private readonly leadership: Leadership,
    private readonly transport: Transport,
    private readonly tools: { readonly clock: Clock; readonly logger: Logger },
  ) {}

  /** Resolves when this process has the counts of the others. */
  async start(): Promise<void> {
    this.#sharing.push(
      await this.transport.listen(GRANTS_SUBJECT, (_, body) => this.#receive(unpack(body) as Message)),
    );
    await this.#learn();
    this.#sharing.push(await this.transport.serve(GRANTS_KNOWN_SUBJECT, async () => pack(this.local.known())));
    await this.#renew();
    this.#rounds.start();
  }

  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#counting?.stop();
    // Stop serving the limits before another coordinator can take the lease.
    await Promise.all(this.#sharing.map((serving) => serving.stop()));
    await this.leadership.release().catch(() => undefined);
  }

  take(project: string, category: Category): Decision | Promise<Decision> {
    if (!this.local.limits(project)) return this.local.take(project, category);
    const countsHere = this.#counting !== undefined && this.leadership.leads;
    return countsHere || this.tools.clock.monotonicMs() < this.#avoidUntilMs
      ? this.#count(project, category)
      : this.#askHolder(project, category);
  }

  /** Grants of one instant travel together. */
  #count(project: string, category: Category): Decision {
    const decision = this.local.take(project, category);
    if (decision.retryAfterSecs > 0) return decision;
    if (this.#unsent.size === 0) queueMicrotask(() => this.#sendGrants());
    let grants = this.#unsent.get(project);
    if (grants === undefined) {
      grants = [project, 0, 0];
      this.#unsent.set(project, grants);
    }
    grants[category === 'read' ? 1 : 2] += 1;
    return decision;
  }

  async #askHolder(project: string, category: Category): Promise<Decision> {
    try {
      return (await this.#ask(LIMITS_SUBJECT, [project, category])) as Decision;
    } catch (error) {
      this.tools.logger.debug({ error: messageOf(error) }, 'no coordinator counts for all at the moment');
      if (!(error instanceof NotServed)) this.#avoidUntilMs = this.tools.clock.monotonicMs() + AVOID_MS;
      return this.#count(project, category);
    }
  }

  async #ask(subject: string, question: unknown): Promise<unknown> {
    const envelope = { requestId: 'limits', deadlineMs: this.tools.clock.nowMs() + ASK_MS };
    return unpack(await this.transport.request(subject, pack(question), envelope));
  }

  #sendGrants(): void {
    const grants = [...this.#unsent.values()];
    this.#unsent = new Map();
    for (let i = 0; i < grants.length; i += PROJECTS_PER_MESSAGE)
      this.transport.publish(GRANTS_SUBJECT, pack([this.leadership.holder, grants.slice(i, i + PROJECTS_PER_MESSAGE)]));
  }

  #receive([sender, grants]: Message): void {
    if (sender === this.leadership.holder) return;
    for (const [project, reads, writes] of grants) {
      if (reads > 0) this.local.granted(project, 'read', reads);
      if (writes > 0) this.local.granted(project, 'write', writes);
    }
  }

  async #learn(): Promise<void> {
    try {
      this.local.learn((await this.#ask(GRANTS_KNOWN_SUBJECT, null)) as [string, UntilFull][]);
    } catch (error) {
      // This is the first coordinator.
      if (error instanceof NotServed) return;
      const failure = { error: messageOf(error) };
      this.tools.logger.warn(failure, 'no coordinator reports the admitted requests; the counts restart');
    }
  }

  async #renew(): Promise<void> {
    try {
      if (await this.leadership.hold()) {
        this.#counting ??= await this.transport.serve(LIMITS_SUBJECT, async ({ body }) => {
          // After a pause this process may not have noticed the end of its lease yet.
          if (!this.leadership.leads) throw unavailable('this coordinator no longer counts requests');
          const [project, category] = unpack(body) as [string, Category];
          return pack(this.#count(project, category));
        });
      } else if (this.#counting !== undefined) {
        const counting = this.#counting;
        this.#counting = undefined;
        await counting.stop();
      }
    } catch (error) {
      this.tools.logger.warn({ error: messageOf(error) }, 'the lease on counting requests could not be renewed');
    }
  }
}
