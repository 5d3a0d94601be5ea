// Covers: shared/scheduling/waitBound.ts, shared/scheduling/fairQueue.ts, coordinator/limits/inFlight.ts
// Covers: coordinator/limits/turnBudget.ts, shard/capacity/admission.ts, shard/answering/callRunner.ts
/** Overload limits: wait times, turns of the event loop, and shares of projects. */
import { expect } from 'chai';
import { InFlight, type Share } from '../../../../coordinator/limits/inFlight.js';
import { TurnBudget } from '../../../../coordinator/limits/turnBudget.js';
import { CallRunner } from '../../../../shard/answering/callRunner.js';
import { CallAdmission, type ReadTarget, takesTurns } from '../../../../shard/capacity/admission.js';
import { systemClock } from '../../../../shared/clock.js';
import { Overloaded, type RefusalReason } from '../../../../shared/errors/overloaded.js';
import { silentLogger } from '../../../../shared/logger.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { assertWhole } from '../../../../shared/model/whole.js';
import { areReads } from '../../../../shared/protocol/callShapes.js';
import type { ReadCall } from '../../../../shared/protocol/calls.js';
import { type Outcome, packCalls, unpackOutcomes } from '../../../../shared/protocol/wire.js';
import { FairQueue, ONE_UNIT } from '../../../../shared/scheduling/fairQueue.js';
import { WaitBound } from '../../../../shared/scheduling/waitBound.js';
import { InProcessTransport } from '../../../../shared/transport/inProcess.js';
import { soon } from '../../../support/rigs/engine.js';
import { TestClock } from '../../../support/rigs/testEdge.js';

const QUEUE_MS = 500;
const SEARCH: ReadCall = { op: 'search', query: new Uint8Array(8), k: 1 };

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a wait bound', () => {
  it('refuses work that would wait too long, judged by earlier waits', () => {
    const bound = new WaitBound(QUEUE_MS);
    expect(bound.admits(1_000, 0), 'nothing is known yet').to.equal(true);
    for (let i = 0; i < 50; i++) expect(bound.through(10, 100)).to.equal(true);
    expect([bound.admits(0, 0), bound.admits(50, 0), bound.admits(51, 0)]).to.deep.equal([true, true, false]);
  });

  it('allows a fifth of the wait after the queue was not empty for that long', () => {
    const bound = new WaitBound(QUEUE_MS);
    for (let i = 0; i < 50; i++) bound.through(10, 100);
    const admits = (ahead: number, busyMs: number): boolean => bound.admits(ahead, busyMs);
    expect([admits(40, 500), admits(40, 501), admits(10, 501)]).to.deep.equal([true, false, true]);
  });

  it('does not take a pause of the whole process for slow work', () => {
    const bound = new WaitBound(QUEUE_MS);
    for (let round = 0; round < 10; round++) {
      for (let ahead = 1; ahead < 64; ahead++) bound.through(ahead, ahead / 10);
      bound.through(1, 300);
    }
    expect(bound.admits(64, 0)).to.equal(true);
  });

  it('refuses work that has waited too long, and from then on expects slow work', () => {
    const bound = new WaitBound(QUEUE_MS);
    for (let i = 0; i < 50; i++) bound.through(1, 100);
    expect(bound.through(1_000, QUEUE_MS + 1)).to.equal(false);
    expect(bound.admits(6, 0), 'those before it were refused too').to.equal(false);
    for (let i = 0; i < 50; i++) bound.through(1, 600);
    expect(bound.admits(1, 0)).to.equal(false);
  });
});

describe('a fair queue', () => {
  const always = (): boolean => true;
  const never = (): void => expect.fail('nothing is late');

  it('takes keys in turn, and the items of a key in order', () => {
    const queue = new FairQueue<string, string>(QUEUE_MS, new TestClock());
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.push(item[0]!, item, ONE_UNIT);
    const taken = Array.from({ length: 7 }, () => queue.take(always, never));
    expect(taken).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', undefined]);
    expect(queue.length).to.equal(0);
  });

  it('skips keys that may not begin', () => {
    const queue = new FairQueue<string, string>(QUEUE_MS, new TestClock());
    for (const item of ['a1', 'b1', 'a2']) queue.push(item[0]!, item, ONE_UNIT);
    expect(queue.take((key) => key === 'b', never)).to.equal('b1');
    expect(queue.take((key) => key === 'b', never)).to.equal(undefined);
    expect(queue.take(always, never)).to.equal('a1');
  });

  it('returns late items, and the waiting ones when it is cleared', () => {
    const clock = new TestClock();
    const queue = new FairQueue<string, string>(QUEUE_MS, clock);
    queue.push('a', 'a1', ONE_UNIT);
    clock.advance(QUEUE_MS + 1);
    queue.push('a', 'a2', ONE_UNIT);
    queue.push('b', 'b1', ONE_UNIT);
    const late: string[] = [];
    expect(queue.take(always, (item) => late.push(item))).to.equal('a2');
    expect(late).to.deep.equal(['a1']);
    queue.push('b', 'b2', ONE_UNIT);
    expect([queue.clear(), queue.length]).to.deep.equal([['b1', 'b2'], 0]);
  });

  it('lets no key wait longer than its turn because of a flood of another key', () => {
    const clock = new TestClock();
    const queue = new FairQueue<string, number>(QUEUE_MS, clock);
    let refused = 0;
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 4; i++) {
        if (queue.admits('flood', 1)) queue.push('flood', i, { units: 1, atWork: 1 });
        else refused++;
      }
      clock.advance(10);
      queue.take(always, () => undefined);
    }
    expect(refused).to.be.within(500, 600);
    expect(queue.length, 'a fifth of 500 ms at 10 ms each').to.be.within(5, 15);
    expect(queue.admits('other', 0)).to.equal(true);
    queue.push('other', 7, ONE_UNIT);
    queue.take(always, () => undefined);
    expect(queue.take(always, () => undefined)).to.equal(7);
  });
});

describe('the admission of calls at a shard', () => {
  const refused: RefusalReason[] = [];
  let clock: TestClock;
  let admission: CallAdmission;
  beforeEach(() => {
    refused.length = 0;
    clock = new TestClock();
    admission = new CallAdmission(QUEUE_MS, clock, (reason) => refused.push(reason));
  });

  const runRead = <T>(reader: ReadTarget, call: ReadCall, work: () => Promise<T>): Promise<T> =>
    takesTurns(call) ? admission.inTurn(reader, work) : work();

  /** Reads that end when the test says so. */
  class Reads {
    readonly begun: string[] = [];
    readonly #ends = new Map<string, () => void>();

    read(collectionId: number, name: string, project = `of ${collectionId}`): Promise<string> {
      return runRead({ id: collectionId, project }, SEARCH, async () => {
        this.begun.push(name);
        await new Promise<void>((resolve) => this.#ends.set(name, resolve));
        return name;
      });
    }

    async end(...names: string[]): Promise<void> {
      for (const name of names) this.#ends.get(name)!();
      await nextTurn();
      await nextTurn();
    }
  }

  it('runs four reads of a collection at once, and the others in order', async () => {
    const reads = new Reads();
    const all = [1, 2, 3, 4, 5, 6].map((i) => reads.read(1, `a${i}`));
    await nextTurn();
    expect(reads.begun).to.deep.equal(['a1', 'a2', 'a3', 'a4']);
    expect(admission.readsWaiting).to.equal(2);
    await reads.end('a3');
    expect(reads.begun.at(-1)).to.equal('a5');
    await reads.end('a1', 'a2', 'a4', 'a5');
    await reads.end('a6');
    expect(await Promise.all(all)).to.deep.equal(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  });

  it('limits timeline reads too, since many pages at once would starve other reads', async () => {
    const begun: number[] = [];
    const page = { op: 'timeline', fromMs: 0, toMs: 1, after: 0, limit: 1 } as const;
    for (let i = 0; i < 32; i++) void runRead({ id: 1, project: 'p' }, page, () => new Promise(() => begun.push(i)));
    await nextTurn();
    expect(begun).to.deep.equal([0, 1, 2, 3]);
  });

  it('starts a read of an idle collection at once, however many reads of another wait', async () => {
    const reads = new Reads();
    for (let i = 1; i <= 50; i++) void reads.read(1, `a${i}`);
    void reads.read(2, 'b1');
    void reads.read(2, 'b2');
    await nextTurn();
    expect(reads.begun).to.deep.equal(['a1', 'a2', 'a3', 'a4', 'b1', 'b2']);
    // Two collections are busy, with two places each.
    await reads.end('a1', 'a2');
    expect(reads.begun).to.have.length(6);
    await reads.end('a3');
    expect(reads.begun.slice(6)).to.deep.equal(['a5']);
    await reads.end('b1', 'b2');
    expect(reads.begun.slice(7), 'alone again').to.deep.equal(['a6', 'a7']);
  });

  it('leaves a place to other projects if one reads many collections, and one turn among them', async () => {
    const reads = new Reads();
    for (let id = 1; id <= 32; id++) void reads.read(id, `a${id}`, 'wide');
    await nextTurn();
    expect(reads.begun).to.deep.equal(['a1', 'a2', 'a3', 'a4']);
    for (let id = 101; id <= 112; id++) void reads.read(id, `b${id}`, `narrow ${id}`);
    await nextTurn();
    expect(reads.begun.slice(4)).to.deep.equal(Array.from({ length: 12 }, (_, i) => `b${101 + i}`));
    // All places are taken: the project that waits for the first time is served before the next of the wide one's.
    void reads.read(200, 'c1', 'late');
    await reads.end('b101', 'b102');
    expect(reads.begun.slice(16), 'the wide one has its four').to.deep.equal(['c1']);
    await reads.end('a1');
    expect(reads.begun.slice(17)).to.deep.equal(['a5']);
  });

  it('starts concurrent reads in one turn of the event loop while its time lasts', async () => {
    const turns: number[] = [];
    let turn = 0;
    const counting = { isOver: false };
    const count = (): void => {
      turn++;
      if (!counting.isOver) setImmediate(count);
    };
    setImmediate(count);
    const reads = Array.from({ length: 12 }, (_, id) =>
      runRead({ id, project: 'wide' }, SEARCH, async () => {
        // Three milliseconds without a pause.
        clock.advance(3);
        turns.push(turn);
      }),
    );
    const other = runRead({ id: 100, project: 'other' }, SEARCH, async () => turns.push(-1));
    await Promise.all([...reads, other]);
    counting.isOver = true;
    const perTurn = new Map<number, number>();
    for (const one of turns.filter((each) => each >= 0)) perTurn.set(one, (perTurn.get(one) ?? 0) + 1);
    expect(Math.max(...perTurn.values())).to.equal(2);
    expect(turns.indexOf(-1), 'its turn comes after one of theirs').to.be.below(4);
  });

  it('lets calls of microseconds pass without waiting', async () => {
    const reads = new Reads();
    for (let i = 1; i <= 10; i++) void reads.read(1, `a${i}`);
    expect(await runRead({ id: 1, project: 'p' }, { op: 'describe' }, async () => 'described')).to.equal('described');
    const past: ReadCall = { ...SEARCH, asOf: { logIndex: 1 } } as ReadCall;
    expect(await runRead({ id: 1, project: 'p' }, past, async () => 'the past')).to.equal('the past');
  });

  it('refuses reads that would wait too long or have waited too long', async () => {
    const reads = new Reads();
    const outcomes = Array.from({ length: 10 }, (_, i) =>
      reads.read(1, `a${i}`).catch((error: unknown) => (error as Overloaded).reason),
    );
    await nextTurn();
    clock.advance(QUEUE_MS + 100);
    await reads.end('a0', 'a1', 'a2', 'a3');
    expect((await Promise.all(outcomes)).slice(4)).to.deep.equal(Array(6).fill('read_waited'));
    // 600 ms for a place behind four: after three more a fourth would wait too long.
    const later: Promise<string>[] = [];
    for (let i = 0; i < 40; i++)
      later.push(reads.read(1, `b${i}`).catch((error: unknown) => (error as Overloaded).reason));
    await nextTurn();
    expect(refused.filter((reason) => reason === 'read_queue')).to.have.length.above(10);
    expect(admission.readsWaiting).to.be.below(26);
  });

  it('limits calls and bytes, except for urgent calls of the cluster', async () => {
    const runner = new CallRunner(
      { metrics: new Metrics('shard'), clock: systemClock, logger: silentLogger },
      admission,
      { maxPayloadBytes: 1e6 },
    );
    const passes = (): void => undefined;
    const run = async (): Promise<unknown> => 1;
    const answer = async (isUrgent: boolean, calls: number): Promise<readonly Outcome[]> => {
      const body = packCalls(Array(calls).fill({ ...soon(), call: { op: 'describe' } }));
      const handler = { areCalls: areReads, isUrgent, assertMayRun: passes, assertMayAnswer: passes, run };
      return unpackOutcomes(await runner.answer({ ...soon(), subject: 's', body, shiftMs: 0 }, handler));
    };
    expect(admission.admit(16_380, 10)).to.equal(true);
    expect(await answer(false, 1)).to.deep.equal([{ ok: 1 }]);
    const refusal = (await answer(false, 5)) as readonly { code: string; retryAfterSecs: number }[];
    expect(refusal.map(({ code, retryAfterSecs }) => [code, retryAfterSecs])).to.deep.equal(
      Array(5).fill(['unavailable', 1]),
    );
    expect(refused).to.deep.equal(Array(5).fill('calls'));
    expect(await answer(true, 5)).to.deep.equal(Array(5).fill({ ok: 1 }));
    expect(admission.admit(1, 512 * 1024 * 1024)).to.equal(false);
    expect(admission.admit(5, 512 * 1024 * 1024, true)).to.equal(true);
    admission.finish(5, 512 * 1024 * 1024);
    expect([admission.calls, admission.bytes]).to.deep.equal([16_380, 10]);
  });
});

describe('the requests in flight at a coordinator', () => {
  const fill = (inFlight: InFlight, project: string): Share[] => {
    const shares: Share[] = [];
    for (;;) {
      const share = inFlight.enter(project);
      if (typeof share === 'string') return shares;
      shares.push(share);
    }
  };

  it('leave a quarter of the places to other projects if one project floods', () => {
    const inFlight = new InFlight(1_024, 1_000);
    const flood = fill(inFlight, 'flood');
    expect(flood).to.have.length(768);
    expect(inFlight.enter('flood')).to.equal('project_requests');
    const second = fill(inFlight, 'second');
    expect(second).to.have.length(192);
    expect(fill(inFlight, 'third')).to.have.length(48);
    // Later projects get the excess share of the first as places become free.
    for (const share of flood.splice(0, 400)) inFlight.leave(share);
    expect(fill(inFlight, 'second').length + second.length).to.be.within(400, 500);
  });

  it('share the bytes of bodies in that way too, and release all of them', () => {
    const inFlight = new InFlight(1_024, 1_000);
    const [one, other] = [inFlight.enter('one') as Share, inFlight.enter('other') as Share];
    const taken = Array.from({ length: 200 }, () => inFlight.reserve(one, 10)).filter(Boolean).length;
    expect(taken).to.be.within(74, 76);
    expect(inFlight.reserve(other, 10)).to.equal(true);
    expect(inFlight.reserve(other, 1_000)).to.equal(false);
    inFlight.release(one, taken * 10);
    inFlight.release(other, 10);
    inFlight.leave(one);
    inFlight.leave(other);
    expect([inFlight.requests, inFlight.bodyBytes]).to.deep.equal([0, 0]);
  });

  it('refuse an invalid amount, and keep their limits', () => {
    const inFlight = new InFlight(1_024, 1_000);
    const share = inFlight.enter('p') as Share;
    const queue = new FairQueue<string, string>(1_000, new TestClock());
    for (const amount of [Number.NaN, Number.POSITIVE_INFINITY, -1, 0.5, 2 ** 53]) {
      expect(() => inFlight.reserve(share, amount)).to.throw(RangeError);
      expect(() => inFlight.release(share, amount)).to.throw(RangeError);
      expect(() => queue.push('p', 'x', { units: amount, atWork: 0 })).to.throw(RangeError);
      expect(() => assertWhole(amount)).to.throw(RangeError);
    }
    expect([inFlight.bodyBytes, share.bodyBytes, queue.length]).to.deep.equal([0, 0, 0]);
    expect([inFlight.reserve(share, 1_001), inFlight.reserve(share, 700)]).to.deep.equal([false, true]);
  });

  it('are accepted up to a time budget in each turn of the event loop', async () => {
    const intake = new TurnBudget(QUEUE_MS);
    for (let i = 0; i < 64; i++) expect(intake.admits(10 * i)).to.equal(true);
    expect([intake.admits(99), intake.admits(100)]).to.deep.equal([true, false]);
    await nextTurn();
    expect(intake.admits(200)).to.equal(true);
  });
});

describe('in-process requests', () => {
  it('are limited in bytes until they are answered', async () => {
    const transport = new InProcessTransport({ logger: silentLogger });
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const serving = await transport.serve('s', async () => {
      await answered;
      return new Uint8Array(1);
    });
    const body = new Uint8Array(15 * 1024 * 1024);
    const ask = (): Promise<string> =>
      transport.request('s', body, soon()).then(
        () => 'answered',
        (error: unknown) => (error as Overloaded).reason,
      );
    const asked = Array.from({ length: 17 }, ask);
    expect(await ask()).to.equal('messages');
    expect(transport.load).to.deep.equal({ requests: 17, bytes: 17 * body.length, unsentBytes: 0 });
    answer();
    expect(new Set(await Promise.all(asked))).to.deep.equal(new Set(['answered']));
    expect([transport.load.bytes, await ask()]).to.deep.equal([0, 'answered']);
    await serving.stop();
    await transport.close();
  });
});

describe('an overload error', () => {
  it('has a Retry-After, and the code that says that the request had no effect', () => {
    const error = new Overloaded('requests');
    expect([error.code, error.status, error.retryAfterSecs]).to.deep.equal(['unavailable', 503, 1]);
  });
});
