/** Deadlines of calls between machines whose clocks differ. */
import { expect } from 'chai';
import { type Clock, systemClock } from '../../../../shared/clock.js';
import { SenderClocks } from '../../../../shared/transport/senderClocks.js';
import { expectCode } from '../../../support/expectations.js';
import { startTestNats, type TestNats } from '../../../support/launch/natsServer.js';
import { ClusterPlatforms } from '../../../support/nats/clusterPlatforms.js';

const HALF_MINUTE_MS = 30_000;

describe('the clock of a sender', () => {
  let nowMs = 0;
  const clock: Clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  /** Shift for a message sent `awayMs` ago by a clock that is `aheadMs` ahead of ours. */
  const shiftOf = (clocks: SenderClocks, aheadMs: number, awayMs: number): number =>
    clocks.shiftMs('a', nowMs - awayMs + aheadMs);

  for (const aheadMs of [0, 3, -40_000, 40_000])
    it(`ahead by ${aheadMs} ms is estimated from the message that arrived fastest`, () => {
      const clocks = new SenderClocks(clock);
      nowMs = 1_000_000;
      expect(shiftOf(clocks, aheadMs, 900)).to.equal(900 - aheadMs);
      expect(shiftOf(clocks, aheadMs, 2)).to.equal(2 - aheadMs);
      for (let i = 0; i < 100; i++) {
        nowMs += 100;
        expect(shiftOf(clocks, aheadMs, 5_000), 'a delayed message differs from one that is sent late').to.equal(
          2 - aheadMs,
        );
      }
    });

  it('is followed at once if it is set forward, and within a minute if it is set back', () => {
    const clocks = new SenderClocks(clock);
    nowMs = 1_000_000;
    shiftOf(clocks, 0, 1);
    expect(shiftOf(clocks, 60_000, 1)).to.equal(1 - 60_000);
    for (let i = 0; i < 61; i++) {
      nowMs += 1_000;
      shiftOf(clocks, 0, 1);
    }
    expect(shiftOf(clocks, 0, 1)).to.equal(1);
  });

  it('is estimated for each sender separately', () => {
    const clocks = new SenderClocks(clock);
    nowMs = 1_000_000;
    expect(clocks.shiftMs('a', nowMs - 5)).to.equal(5);
    expect(clocks.shiftMs('b', nowMs + 7_000)).to.equal(-7_000);
    expect(clocks.shiftMs('a', nowMs - 5)).to.equal(5);
  });
});

describe('machines whose clocks differ by half a minute', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  before(async () => {
    nats = await startTestNats();
  });
  after(async () => {
    await platforms.close();
    await nats.stop();
  });

  for (const aheadMs of [-HALF_MINUTE_MS, HALF_MINUTE_MS])
    it(`call each other if the server is ${aheadMs} ms ahead`, async () => {
      const clockOf = (extraMs: number): Clock => ({
        nowMs: () => systemClock.nowMs() + extraMs,
        monotonicMs: () => systemClock.monotonicMs(),
      });
      const asking = await platforms.open(nats.url, { clock: clockOf(0) });
      const serving = await platforms.open(nats.url, { clock: clockOf(aheadMs) });
      const left: number[] = [];
      const serve = await serving.transport.serve('vouch.test.skew', async ({ body, deadlineMs }) => {
        left.push(deadlineMs - clockOf(aheadMs).nowMs());
        return body;
      });
      const envelope = (ms: number) => ({ requestId: 'r', deadlineMs: clockOf(0).nowMs() + ms });
      for (let i = 0; i < 3; i++) await asking.transport.request('vouch.test.skew', Uint8Array.of(1), envelope(10_000));
      for (const ms of left) expect(ms).to.be.within(5_000, 10_000);
      await expectCode(asking.transport.request('vouch.test.skew', Uint8Array.of(1), envelope(-1)), 'unavailable');
      await serve.stop();
    });
});
