/** How calls become outcomes: each is run for itself, none after its deadline, and none without the shard's lease. */
import type { AreCalls } from '../shared/callShapes.js';
import type { Clock } from '../shared/clock.js';
import { unavailable } from '../shared/errors.js';
import type { Logger } from '../shared/logger.js';
import { NobodyServes } from '../shared/transport/nobodyServes.js';
import type { Message } from '../shared/transport/transport.js';
import { failure, type Outcome, packOutcomes, type Sent, unpackCalls } from '../shared/wire.js';
import type { Admission } from './admission.js';
import type { Lease } from './lease.js';
import type { ShardMetrics } from './metrics.js';

interface Named {
  readonly op: string;
}

/** Throw where the call must not be run, and where what it came to must not be told, be it an error. */
export interface Conditions {
  before(): void;
  after(): void;
}

export class Answering {
  constructor(
    private readonly lease: Lease,
    private readonly metrics: ShardMetrics,
    private readonly admission: Admission,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  /** The packed outcomes of the message's calls. */
  async answer<C extends Named>(
    message: Message,
    areCalls: AreCalls<C>,
    run: (sent: Sent<C>) => Promise<unknown>,
    conditions: Conditions = this.leaseHolds,
    urgent = conditions === this.leaseHolds,
  ): Promise<Uint8Array> {
    const calls = unpackCalls(message.body, areCalls, message.shiftMs);
    const room = { sizeBytes: message.body.length, urgent };
    return packOutcomes(await this.admission.all(room, calls, (sent) => this.#outcome(sent, run, conditions)));
  }

  get isLeaseValid(): boolean {
    return this.lease.valid;
  }

  /** Of what is no read: it may have had an effect by the time that the lease is over. */
  readonly leaseHolds: Conditions = { before: () => this.#assertLease(), after: () => this.#assertLease() };

  #assertLease(): void {
    if (!this.lease.valid) throw unavailable('the shard has lost touch with the cluster; retry shortly');
  }

  async #outcome<C extends Named>(
    sent: Sent<C>,
    run: (sent: Sent<C>) => Promise<unknown>,
    conditions: Conditions,
  ): Promise<Outcome> {
    const done = this.metrics.time(sent.call.op);
    try {
      conditions.before();
      const ok = await this.#run(sent, run, conditions);
      done('ok');
      return { ok };
    } catch (error) {
      const outcome = failure(error);
      if ('moved' in outcome) done('moved');
      if ('code' in outcome) {
        done(outcome.code);
        if (outcome.code === 'internal_error')
          this.logger.error({ requestId: sent.requestId, op: sent.call.op, error }, 'a call failed');
      }
      return outcome;
    }
  }

  async #run<C extends Named>(
    sent: Sent<C>,
    run: (sent: Sent<C>) => Promise<unknown>,
    conditions: Conditions,
  ): Promise<unknown> {
    if (this.clock.nowMs() > sent.deadlineMs) throw unavailable('the deadline passed before the shard could start');
    try {
      const result = await run(sent);
      conditions.after();
      return result;
    } catch (error) {
      // That something is not there is an answer too.
      if (!(error instanceof NobodyServes)) conditions.after();
      throw error;
    }
  }
}
