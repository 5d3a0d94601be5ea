/**
 * Runs the calls of a message, each by itself, and returns their outcomes together, in the order of the calls. The handler
 * decides who may answer: an owner by epoch and lease (`collectionReplica.ts`), a follower by the age of its state (`follower.ts`).
 *
 * ```text
 * message ──▶ admitted ──▶ may run here? ──▶ in time? ──▶ its turn ──▶ run ──▶ may be answered? ──▶ outcome
 * ```
 */
import { DURATION_MAX_MS } from '../../config/config.js';
import type { Clock } from '../../shared/clock.js';
import { unavailable } from '../../shared/errors/errors.js';
import type { Logger } from '../../shared/logger.js';
import type { Metrics } from '../../shared/metrics/metrics.js';
import type { AuditedState } from '../../shared/model/readAudit.js';
import { type AreCalls, areReads } from '../../shared/protocol/callShapes.js';
import { failure, type Outcome, packOutcomes, type Sent, unpackCalls } from '../../shared/protocol/wire.js';
import { noteWork, type Subject } from '../../shared/scheduling/currentWork.js';
import type { Envelope, Message, Transport } from '../../shared/transport/transport.js';
import { NotServed } from '../../shared/transport/transportErrors.js';
import { type CallAdmission, type ReadTarget, takesTurns } from '../capacity/admission.js';

interface AnyCall {
  readonly op: string;
}

/** Handles the calls of a subject: that of an owner, of a follower, or of the shard itself. */
export interface CallHandler<C extends AnyCall> {
  readonly areCalls: AreCalls<C>;
  /** The collection, if its long reads take turns with those of other collections. */
  readonly reader?: ReadTarget & Subject;
  /** True for calls on which the cluster depends. They are not refused because of load. */
  readonly isUrgent?: boolean;
  /** Throws if no call may begin here now. */
  assertMayRun(): void;
  /** Throws if the result or the error of a call must not be sent now. */
  assertMayAnswer(): void;
  run(call: C, envelope: Envelope): Promise<unknown>;
}

export class CallRunner {
  constructor(
    private readonly tools: { readonly metrics: Metrics; readonly clock: Clock; readonly logger: Logger },
    private readonly admission: CallAdmission,
    private readonly transport: Pick<Transport, 'maxPayloadBytes'>,
  ) {}

  /** Runs the calls of a message, and returns their outcomes as a message. */
  async answer<C extends AnyCall>(message: Message, handler: CallHandler<C>): Promise<Uint8Array> {
    const { admission } = this;
    const calls = unpackCalls(message.body, handler.areCalls, message.shiftMs);
    const sizeBytes = message.body.length;
    if (!admission.admit(calls.length, sizeBytes, handler.isUrgent))
      return packOutcomes(calls.map(() => failure(admission.refusal('calls'))));
    try {
      // A message may have any deadline, but a timer has a maximum.
      const latestMs = this.tools.clock.nowMs() + DURATION_MAX_MS;
      const outcomes = calls.map((sent) =>
        this.#outcome({ ...sent, deadlineMs: Math.min(sent.deadlineMs, latestMs) }, handler),
      );
      return this.#packed(await Promise.all(outcomes), handler.areCalls === (areReads as unknown));
    } finally {
      admission.finish(calls.length, sizeBytes);
    }
  }

  /**
   * Packs the outcomes. Reads whose results do not fit the message are answered `moved`, so that the coordinator, which had
   * underestimated their size, sends them again. Results of writes are small, and a write must not be repeated.
   */
  #packed(outcomes: readonly Outcome[], areOfReads: boolean): Uint8Array {
    const { maxPayloadBytes } = this.transport;
    const packed = packOutcomes(outcomes);
    if (packed.length <= maxPayloadBytes || !areOfReads) return packed;
    let sizeBytes = 0;
    const fitting = outcomes.map((outcome, i): Outcome => {
      sizeBytes += packOutcomes([outcome]).length;
      return i === 0 || sizeBytes <= maxPayloadBytes ? outcome : { moved: true };
    });
    return packOutcomes(fitting);
  }

  async #outcome<C extends AnyCall>(sent: Sent<C>, handler: CallHandler<C>): Promise<Outcome> {
    const { requestId, call } = sent;
    const { op } = call;
    const startedMs = this.tools.clock.monotonicMs();
    const ended = (outcome: string): void =>
      this.tools.metrics.observe(
        'vouch_shard_call_seconds',
        { op, outcome },
        (this.tools.clock.monotonicMs() - startedMs) / 1000,
      );
    let audited: AuditedState | undefined;
    const onAudited = (state: AuditedState): void => {
      audited = state;
    };
    try {
      const ok = await this.#run({ ...sent, onAudited }, handler);
      ended('ok');
      return audited === undefined ? { ok } : { ok, audited };
    } catch (error) {
      const failed = failure(error);
      const outcome = audited === undefined || 'moved' in failed ? failed : { ...failed, audited };
      if ('moved' in outcome) ended('moved');
      if ('code' in outcome) {
        ended(outcome.code);
        if (outcome.code === 'internal_error') this.tools.logger.error({ requestId, op, error }, 'a call failed');
      }
      return outcome;
    }
  }

  async #run<C extends AnyCall>(sent: Sent<C>, handler: CallHandler<C>): Promise<unknown> {
    const { call } = sent;
    noteWork(call.op, handler.reader);
    handler.assertMayRun();
    if (this.tools.clock.nowMs() > sent.deadlineMs)
      throw unavailable('the deadline passed before the shard could start');
    const reader = takesTurns(call) ? handler.reader : undefined;
    try {
      const result = await (reader === undefined
        ? handler.run(call, sent)
        : this.admission.inTurn(reader, () => handler.run(call, sent)));
      handler.assertMayAnswer();
      return result;
    } catch (error) {
      // An error shows the state too, for example that a record does not exist.
      if (!(error instanceof NotServed)) handler.assertMayAnswer();
      throw error;
    }
  }
}
