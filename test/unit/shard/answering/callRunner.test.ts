/** Messages to a shard: the deadlines of their calls, and answers that are larger than a message. */
import { expect } from 'chai';
import { DURATION_MAX_MS } from '../../../../config/config.js';
import { CallRunner } from '../../../../shard/answering/callRunner.js';
import { CallAdmission } from '../../../../shard/capacity/admission.js';
import { systemClock } from '../../../../shared/clock.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { areControls, areReads } from '../../../../shared/protocol/callShapes.js';
import { type Outcome, packCalls, unpackOutcomes } from '../../../../shared/protocol/wire.js';
import { type Envelope, packedBody } from '../../../../shared/transport/transport.js';
import { soon } from '../../../support/rigs/engine.js';

const CALL = { op: 'describe' };

describe('times in messages to a shard', () => {
  it('limit each call to 7 days, whatever its deadline', async () => {
    const admission = new CallAdmission(1_000, systemClock, () => undefined);
    const runner = new CallRunner(
      { metrics: new Metrics('shard'), clock: systemClock, logger: silentLogger },
      admission,
      { maxPayloadBytes: 1e6 },
    );
    const passes = (): void => undefined;
    const run = async (_: unknown, { deadlineMs }: Envelope): Promise<unknown> => deadlineMs - systemClock.nowMs();
    const handler = { areCalls: areReads, assertMayRun: passes, assertMayAnswer: passes, run };
    const body = packCalls([4e12, 9e15, 1e300].map((deadlineMs) => ({ requestId: 'r', deadlineMs, call: CALL })));
    const outcomes = unpackOutcomes(await runner.answer({ ...soon(), subject: 's', body, shiftMs: 0 }, handler));
    expect(outcomes).to.have.length(3);
    for (const outcome of outcomes) expect((outcome as { ok: number }).ok).to.be.within(1, DURATION_MAX_MS);
  });

  it('include no deadline that is not a number', () => {
    for (const deadlineMs of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
      expect(areReads([['r', deadlineMs, CALL, null]]), String(deadlineMs)).to.equal(false);
    expect(areReads([['r', 4e12, CALL, null]])).to.equal(true);
  });

  it('include no hold of writes for longer than 7 days', () => {
    const hold = (holdMs: number): unknown => [['r', 1, { op: 'hold', token: 't', holdMs }, null]];
    expect(areControls(hold(DURATION_MAX_MS))).to.equal(true);
    for (const holdMs of [DURATION_MAX_MS + 1, 2 ** 31, 2 ** 53 - 1, 0])
      expect(areControls(hold(holdMs)), String(holdMs)).to.equal(false);
  });
});

describe('an answer of a shard above the size of a message', () => {
  const sizes = [400, 500, 200, 30, 900];
  const answer = async (areCalls: typeof areReads): Promise<readonly Outcome[]> => {
    const admission = new CallAdmission(1_000, systemClock, () => undefined);
    const runner = new CallRunner(
      { metrics: new Metrics('shard'), clock: systemClock, logger: silentLogger },
      admission,
      {
        maxPayloadBytes: 1_000,
      },
    );
    const passes = (): void => undefined;
    let next = 0;
    const run = async (): Promise<unknown> => new Uint8Array(sizes[next++]!);
    const handler = { areCalls, assertMayRun: passes, assertMayAnswer: passes, run };
    const body = packedBody(packCalls(sizes.map(() => ({ ...soon(), call: CALL }))));
    return unpackOutcomes(await runner.answer({ ...soon(), subject: 's', body, shiftMs: 0 }, handler));
  };

  it('contains the first results of reads that fit, and reports the other reads as moved', async () => {
    const outcomes = await answer(areReads);
    expect(outcomes.map((outcome) => ('ok' in outcome ? (outcome.ok as Uint8Array).length : outcome))).to.deep.equal([
      400,
      500,
      { moved: true },
      { moved: true },
      { moved: true },
    ]);
  });

  it('contains every result of other calls, which must not be repeated', async () => {
    const others = ((value: unknown) => areReads(value)) as typeof areReads;
    expect((await answer(others)).every((outcome) => 'ok' in outcome)).to.equal(true);
  });
});

describe('calls that wait until they are ready', () => {
  it('keep no call of another collection of their project from its turn', async () => {
    const admission = new CallAdmission(1_000, systemClock, () => undefined);
    const tools = { metrics: new Metrics('shard'), clock: systemClock, logger: silentLogger };
    const runner = new CallRunner(tools, admission, { maxPayloadBytes: 1e6 });
    const passes = (): void => undefined;
    const common = { areCalls: areReads, assertMayRun: passes, assertMayAnswer: passes, run: async () => null };
    const reader = (id: number) => ({ id, project: 'p', name: 'c' });
    let release = passes;
    const removed = new Promise<void>((resolve) => {
      release = resolve;
    });
    const waits = { ...common, reader: reader(1), ready: () => removed };
    const ask = async (count: number, handler: typeof common): Promise<number> => {
      const call = { op: 'countRecords' };
      const body = packCalls(Array.from({ length: count }, () => ({ ...soon(), call })));
      return unpackOutcomes(await runner.answer({ ...soon(), subject: 's', body, shiftMs: 0 }, handler)).length;
    };
    const waiting = ask(20, waits);
    expect(await ask(1, { ...common, reader: reader(2) } as typeof common)).to.equal(1);
    release();
    expect(await waiting).to.equal(20);
  });
});
