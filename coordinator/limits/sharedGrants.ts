/**
 * What every coordinator lets through, told to all the others at once. None of them needs it while one counts for all; it
 * is what the next counter, and each for itself while there is none, goes on from.
 *
 * It is handed to the connection before the answer that lets the request through: what a coordinator that is killed could
 * not tell is what was let through in its last instant.
 */
import type { Clock } from '../../shared/clock.js';
import { messageOf } from '../../shared/errors.js';
import type { Logger } from '../../shared/logger.js';
import { GRANTS_KNOWN_SUBJECT, GRANTS_SUBJECT } from '../../shared/subjects.js';
import { NobodyServes } from '../../shared/transport/nobodyServes.js';
import type { Serving, Transport } from '../../shared/transport/transport.js';
import { pack, unpack } from '../../shared/wire.js';
import type { Category, LocalLimiter, UntilFull } from './limiter.js';

/** Of a message: far below what one may hold. */
const PROJECTS_PER_MESSAGE = 4_096;
const ASK_MS = 1_000;

type Grants = [project: string, reads: number, writes: number];
type Told = readonly [teller: string, grants: readonly Grants[]];

export class SharedGrants {
  readonly #serving: Serving[] = [];
  #untold = new Map<string, Grants>();

  constructor(
    private readonly local: LocalLimiter,
    /** Of this process, one of a kind. */
    private readonly teller: string,
    private readonly transport: Transport,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** Resolves when this process knows what the others know. */
  async start(): Promise<void> {
    this.#serving.push(await this.transport.listen(GRANTS_SUBJECT, (_, body) => this.#hear(unpack(body) as Told)));
    await this.#askAnother();
    this.#serving.push(await this.transport.serve(GRANTS_KNOWN_SUBJECT, async () => pack(this.local.known())));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#serving.map((serving) => serving.stop()));
  }

  /** This process has let a request through. Those of the same instant travel together. */
  add(project: string, category: Category): void {
    if (this.#untold.size === 0) queueMicrotask(() => this.#tell());
    let grants = this.#untold.get(project);
    if (grants === undefined) {
      grants = [project, 0, 0];
      this.#untold.set(project, grants);
    }
    grants[category === 'read' ? 1 : 2] += 1;
  }

  #tell(): void {
    const grants = [...this.#untold.values()];
    this.#untold = new Map();
    for (let i = 0; i < grants.length; i += PROJECTS_PER_MESSAGE)
      this.transport.publish(GRANTS_SUBJECT, pack([this.teller, grants.slice(i, i + PROJECTS_PER_MESSAGE)]));
  }

  #hear([teller, grants]: Told): void {
    if (teller === this.teller) return;
    for (const [project, reads, writes] of grants) {
      if (reads > 0) this.local.granted(project, 'read', reads);
      if (writes > 0) this.local.granted(project, 'write', writes);
    }
  }

  async #askAnother(): Promise<void> {
    const envelope = { requestId: 'limits', deadlineMs: this.clock.nowMs() + ASK_MS };
    try {
      const known = await this.transport.request(GRANTS_KNOWN_SUBJECT, pack(null), envelope);
      this.local.learn(unpack(known) as [string, UntilFull][]);
    } catch (error) {
      // The first of all has nobody to ask.
      if (!(error instanceof NobodyServes))
        this.logger.warn({ error: messageOf(error) }, 'no coordinator tells what was let through; beginning anew');
    }
  }
}
