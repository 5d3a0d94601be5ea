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
import {
  type Body,
  bodySizeBytes,
  type Envelope,
  type Message,
  packedBody,
  type Transport,
} from '../../shared/transport/transport.js';
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
  /**
   * Awaited before a call takes its turn, so that calls which wait keep no others from theirs; undefined: there is nothing to
   * wait for.
   */
  readonly ready?: () => Promise<unknown> | undefined;
  run(call: C, envelope: Envelope): Promise<unknown>;
}

export class CallRunner {
  constructor(
    private readonly tools: { readonly metrics: Metrics; readonly clock: Clock; readonly logger: Logger },
    private readonly admission: CallAdmission,
    private readonly transport: Pick<Transport, 'maxPayloadBytes'>,
  ) {}

  /** Runs the calls of a message, and returns their outcomes as a message. */
  async answer<C extends AnyCall>(message: Message, handler: CallHandler<C>): Promise<Body> {
    const { admission } = this;
    const calls = unpackCalls(message.body, handler.areCalls, message.shiftMs);
    const sizeBytes = bodySizeBytes(message.body);
    if (!admission.admit(calls.length, sizeBytes, handler.isUrgent))
      return packOutcomes(calls.map(() => failure(admission.refusal('calls'))));
    try {
      // A message may have any deadline, but a timer has a maximum.
      const latestMs = this.tools.clock.nowMs() + DURATION_MAX_MS;
      const running = calls.map((sent) => this.#outcome(sent, Math.min(sent.deadlineMs, latestMs), handler));
      const answered = await Promise.all(running);
      const isFromOtherProcess = message.body instanceof Uint8Array;
      return isFromOtherProcess && handler.areCalls === (areReads as unknown)
        ? this.#fitting(answered)
        : packOutcomes(answered);
    } finally {
      admission.finish(calls.length, sizeBytes);
    }
  }

  /**
   * Answers reads of another process. Those whose results do not fit the message are answered `moved`, so that the coordinator,
   * which had underestimated their size, sends them again. Results of writes are small, and a write must not be repeated.
   */
  #fitting(outcomes: readonly Outcome[]): Body {
    const { maxPayloadBytes } = this.transport;
    const answer = packOutcomes(outcomes);
    if (packedBody(answer).length <= maxPayloadBytes) return answer;
    let sizeBytes = 0;
    const fitting = outcomes.map((outcome, i): Outcome => {
      sizeBytes += packedBody(packOutcomes([outcome])).length;
      return i === 0 || sizeBytes <= maxPayloadBytes ? outcome : { moved: true };
    });
    return packOutcomes(fitting);
  }

  async #outcome<C extends AnyCall>(
    { requestId, call, actor }: Sent<C>,
    deadlineMs: number,
    handler: CallHandler<C>,
  ): Promise<Outcome> {
    const { clock, metrics, logger } = this.tools;
    const startedMs = clock.monotonicMs();
    const ended = (outcome: string): void =>
      metrics.observe('vouch_shard_call_seconds', { op: call.op, outcome }, (clock.monotonicMs() - startedMs) / 1000);
    let audited: AuditedState | undefined;
    const onAudited = (state: AuditedState): void => {
      audited = state;
    };
    try {
      const ok = await this.#run(call, { requestId, deadlineMs, actor, onAudited }, handler);
      handler.assertMayAnswer();
      ended('ok');
      return audited === undefined ? { ok } : { ok, audited };
    } catch (error) {
      const failed = failure(shown(error, handler));
      const outcome = audited === undefined || 'moved' in failed ? failed : { ...failed, audited };
      if ('moved' in outcome) ended('moved');
      if ('code' in outcome) {
        ended(outcome.code);
        if (outcome.code === 'internal_error') logger.error({ requestId, op: call.op, error }, 'a call failed');
      }
      return outcome;
    }
  }

  #run<C extends AnyCall>(call: C, envelope: Envelope, handler: CallHandler<C>): Promise<unknown> {
    noteWork(call.op, handler.reader);
    handler.assertMayRun();
    this.#assertInTime(envelope);
    const ready = handler.ready?.();
    if (ready === undefined) return this.#inTurn(call, envelope, handler);
    return ready.then(() => {
      this.#assertInTime(envelope);
      return this.#inTurn(call, envelope, handler);
    });
  }

  #inTurn<C extends AnyCall>(call: C, envelope: Envelope, handler: CallHandler<C>): Promise<unknown> {
    const reader = takesTurns(call) ? handler.reader : undefined;
    return reader === undefined
      ? handler.run(call, envelope)
      : this.admission.inTurn(reader, () => handler.run(call, envelope));
  }

  #assertInTime({ deadlineMs }: Envelope): void {
    if (this.tools.clock.nowMs() > deadlineMs) throw unavailable('the deadline passed before the shard could start');
  }
}

/** The error of a call as it may be answered now. It shows the state too, for example that a record does not exist. */
function shown(error: unknown, handler: Pick<CallHandler<never>, 'assertMayAnswer'>): unknown {
  if (error instanceof NotServed) return error;
  try {
    handler.assertMayAnswer();
    return error;
  } catch (refusal) {
    return refusal;
  }
}
