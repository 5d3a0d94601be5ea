// Covers: client/clock.ts, client/http.ts, client/waitForIndex.ts
/** Timeouts, poll intervals and `Retry-After` waits of the client: longer than one timer can be, or not a duration. */
import { expect } from 'chai';
import { startTimer } from '../../../client/clock.js';
import { RateLimitedError, Vouch } from '../../../client/index.js';
import { rejection } from '../../support/expectations.js';

const TIMER_MAX_MS = 2 ** 31 - 1;
const URL = 'http://127.0.0.1:1';

const answer = (status: number, body: object, headers = {}): Response =>
  new Response(JSON.stringify(body), { status, headers });

describe('waits of the client package', () => {
  const { setTimeout: original } = globalThis;
  /** Timers that were set and have not run, oldest first. */
  let timers: { readonly ms: number; readonly run: () => void }[];
  beforeEach(() => {
    timers = [];
    globalThis.setTimeout = ((run: () => void, ms: number) => {
      timers.push({ ms, run });
      return original(() => undefined, 0);
    }) as unknown as typeof setTimeout;
  });
  afterEach(() => {
    globalThis.setTimeout = original;
  });

  it('a wait above the longest timer of the runtime is split over several timers', () => {
    let ran = 0;
    startTimer(2 * TIMER_MAX_MS + 5, () => ran++);
    const set: number[] = [];
    for (let timer = timers.shift(); timer !== undefined; timer = timers.shift()) {
      set.push(timer.ms);
      expect(ran).to.equal(0);
      timer.run();
    }
    expect(set).to.deep.equal([TIMER_MAX_MS, TIMER_MAX_MS, 5]);
    expect(ran).to.equal(1);
  });

  for (const timeoutMs of [TIMER_MAX_MS + 1, 1e15, Number.POSITIVE_INFINITY])
    it(`a call with timeoutMs ${timeoutMs} returns its answer`, async () => {
      const vouch = new Vouch({ url: URL, timeoutMs, fetch: async () => answer(200, { collections: [] }) });
      expect(await vouch.collections()).to.deep.equal([]);
      expect(timers.map(({ ms }) => ms)).to.deep.equal([TIMER_MAX_MS]);
    });

  it('a Retry-After above the longest timer is waited for without another request', async () => {
    let asked = 0;
    let isAsked: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const fetch = async (): Promise<Response> => {
      asked++;
      isAsked();
      return answer(429, { error: 'slow down' }, { 'retry-after': '9'.repeat(20) });
    };
    const ended = new AbortController();
    const vouch = new Vouch({ url: URL, timeoutMs: Number.POSITIVE_INFINITY, fetch });
    const call = vouch.collections({ signal: ended.signal });
    await first;
    // Suites before this one may still have short timers.
    const long = (): number[] => timers.map(({ ms }) => ms).filter((ms) => ms > 60_000);
    while (long().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(long()).to.deep.equal([TIMER_MAX_MS, TIMER_MAX_MS]);
    ended.abort(new Error('enough'));
    expect((await rejection(call)).message).to.equal('enough');
    expect(asked).to.equal(1);
  });

  it('a Retry-After beyond the deadline ends the call with RateLimitedError', async () => {
    const fetch = async (): Promise<Response> => answer(429, {}, { 'retry-after': '4294967296' });
    expect(await rejection(new Vouch({ url: URL, fetch }).collections())).to.be.instanceOf(RateLimitedError);
  });

  for (const ms of [Number.NaN, -1, 0, Number.NEGATIVE_INFINITY, null as never])
    it(`${ms} as timeoutMs or pollMs is a TypeError`, async () => {
      const fetch = async (): Promise<Response> => answer(200, { status: 'building' });
      expect(() => new Vouch({ url: URL, timeoutMs: ms, fetch })).to.throw(
        TypeError,
        `timeoutMs: expected milliseconds above 0`,
      );
      const vouch = new Vouch({ url: URL, fetch });
      expect((await rejection(vouch.collections({ timeoutMs: ms }))).message).to.match(/^timeoutMs: expected /);
      expect((await rejection(vouch.collection('c').waitForIndex({ pollMs: ms }))).message).to.match(
        /^pollMs: expected /,
      );
    });
});
