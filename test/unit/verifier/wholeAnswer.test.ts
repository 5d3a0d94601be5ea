/** An exchange with a misbehaving server ends at its bounds, also if parts of the exchange are garbage collected. */
import { expect } from 'chai';
import { AnswerTooLong, wholeAnswer } from '../../../verifier/index.js';
import { rejection } from '../../support/expectations.js';
import { ALL_ODDITIES, type Oddity, OddServer, whileCollecting } from '../../support/rigs/oddServer.js';
import { readSources } from '../../support/sourceTree.js';

const BOUNDS = { withinMs: 250, maxBytes: 256 * 1024 };

const LATE = `no whole answer came within ${BOUNDS.withinMs} ms`;

const ENDS: Readonly<Record<Oddity, string>> = {
  drips: LATE,
  'never answers': LATE,
  'sends the head and stops': LATE,
  'closes in the middle of the body': 'terminated',
  'sends without an end': 'the answer is longer than 262144 bytes',
};

describe('the whole answer of a server', () => {
  let server: OddServer;
  beforeEach(async () => {
    server = await OddServer.start();
  });
  afterEach(() => server.stop());

  it('has the status, the headers and the bytes', async () => {
    const { status, ok, headers, bytes } = await wholeAnswer(server.url, {}, BOUNDS);
    expect([status, ok, headers.get('connection')]).to.deep.equal([404, false, 'keep-alive']);
    expect(Buffer.from(bytes).toString()).to.equal('no such thing\n');
  });

  for (const oddity of ALL_ODDITIES)
    for (const method of ['GET', 'POST'] as const)
      it(`ends at its bounds if the server ${oddity} after ${method}`, async () => {
        server.oddity = oddity;
        const request = method === 'GET' ? {} : { method, body: 'x', redirect: 'error' as const };
        const bounds = ENDS[oddity] === LATE ? BOUNDS : { ...BOUNDS, withinMs: 60_000 };
        const error = await whileCollecting(() => rejection(wholeAnswer(server.url, request, bounds)));
        expect(error.message).to.equal(ENDS[oddity]);
        expect(error instanceof AnswerTooLong).to.equal(oddity === 'sends without an end');
        // The connection does not outlive the exchange.
        await server.untilLeft();
      });

  for (const oddity of ['drips', 'never answers'] as const)
    it(`ends with the reason of an aborted signal if the server ${oddity}`, async () => {
      server.oddity = oddity;
      const interrupted = new AbortController();
      const reading = wholeAnswer(server.url, {}, { maxBytes: 1_000, signal: interrupted.signal });
      setTimeout(() => interrupted.abort(new Error('enough')), 50);
      expect((await whileCollecting(() => rejection(reading))).message).to.equal('enough');
      expect(
        (await rejection(wholeAnswer(server.url, {}, { ...BOUNDS, signal: interrupted.signal }))).message,
      ).to.equal('enough');
    });

  it('is read by one function: no other file calls fetch, AbortSignal.timeout or AbortSignal.any', () => {
    const wrong = readSources()
      .filter(({ path }) => path !== 'verifier/wholeAnswer.ts')
      .flatMap(({ path, folder, calls }) =>
        calls
          .filter(
            ({ text }) => /^AbortSignal\.(?:timeout|any)$/.test(text) || (text === 'fetch' && mustBeBounded(folder)),
          )
          .map(({ text, line }) => `${path}:${line} ${text}`),
      );
    expect(wrong).to.deep.equal([]);
  });
});

/** Tests and benches call their own servers. */
const mustBeBounded = (folder: string): boolean => folder !== 'test' && folder !== 'bench';
