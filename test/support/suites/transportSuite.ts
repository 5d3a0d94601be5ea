/** Tests that every `Transport` must pass. One call of `transportSuite` runs them all over an implementation. */

import { expect } from 'chai';
import { systemClock } from '../../../shared/clock.js';
import { areReads } from '../../../shared/protocol/callShapes.js';
import type { ReadCall } from '../../../shared/protocol/calls.js';
import { packCalls, packOutcomes, type Sent, unpackCalls, unpackOutcomes } from '../../../shared/protocol/wire.js';
import {
  type Body,
  type Envelope,
  type Message,
  packedBody,
  type Transport,
} from '../../../shared/transport/transport.js';
import { NotServed } from '../../../shared/transport/transportErrors.js';
import { eventually, expectCode, gate, rejection } from '../expectations.js';
import { PATIENCE_MS } from '../patience.js';

export interface TransportPair {
  /** The requesting end. */
  readonly client: Transport;
  /** The serving end: another process's if there can be one, else the same object. */
  readonly server: Transport;
  /** Closes the client's end. */
  closeClient(): Promise<void>;
  dispose(): Promise<void>;
}

const envelope = (deadlineInMs = PATIENCE_MS): Envelope => ({
  requestId: 'request-1',
  deadlineMs: systemClock.nowMs() + deadlineInMs,
});
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (body: Body): string => new TextDecoder().decode(packedBody(body));
/** Longer than a message takes within one machine, even a busy one. */
const ON_ITS_WAY_MS = 1_000;
const echo = async (message: Message): Promise<Body> => message.body;

type Fixture = () => TransportPair;

export function transportSuite(name: string, factory: () => Promise<TransportPair>): void {
  describe(`transport: ${name}`, () => {
    let pair: TransportPair;
    beforeEach(async () => {
      pair = await factory();
    });
    afterEach(() => pair.dispose());
    const fixture = (): TransportPair => pair;

    describe('request and answer', () => answerTests(fixture));
    describe('subjects', () => subjectTests(fixture));
    describe('deadlines', () => deadlineTests(fixture));
    describe('failures', () => failureTests(fixture));
    describe('sizes', () => sizeTests(fixture));
    describe('publish and listen', () => publishTests(fixture));
    describe('stop and close', () => endTests(fixture));
  });
}

function answerTests(fixture: Fixture): void {
  it('delivers subject, body, request id and deadline, and returns the answer', async () => {
    const { client, server } = fixture();
    const messages: Message[] = [];
    await server.serve('vouch.test.a', async (message) => {
      messages.push({ ...message, body: Uint8Array.from(packedBody(message.body)) });
      return bytes('answer');
    });
    const sent = envelope();
    expect(text(await client.request('vouch.test.a', bytes('question'), sent))).to.equal('answer');
    expect(messages).to.have.length(1);
    const { body, deadlineMs, shiftMs, ...rest } = messages[0]!;
    expect(text(body)).to.equal('question');
    expect(rest).to.deep.equal({ subject: 'vouch.test.a', requestId: sent.requestId });
    // Both ends have one clock, so the shift of a first message is only its delay.
    expect(deadlineMs - shiftMs).to.equal(sent.deadlineMs);
    expect(shiftMs).to.be.within(0, PATIENCE_MS);
  });

  it('carries a request id of any visible characters', async () => {
    const { client, server } = fixture();
    const visible = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).join('');
    await server.serve('vouch.test.a', async ({ requestId }) => bytes(requestId));
    const answer = await client.request('vouch.test.a', bytes(''), { ...envelope(), requestId: visible });
    expect(text(answer)).to.equal(visible);
  });

  it('carries an empty body in both directions', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', echo);
    expect(await client.request('vouch.test.a', new Uint8Array(0), envelope())).to.have.length(0);
  });

  it('carries calls and their outcomes', async () => {
    const { client, server } = fixture();
    const call = { op: 'get', id: 7 } as const;
    const outcome = { ok: { vector: bytes('vector'), absent: undefined, list: [1, null, 'x'] } };
    let calls: readonly Sent<ReadCall>[] = [];
    await server.serve('vouch.test.a', async ({ body, shiftMs }) => {
      calls = unpackCalls(body, areReads, shiftMs);
      return packOutcomes([outcome]);
    });
    const { requestId, deadlineMs } = envelope();
    const actor = { keyId: 'k', onBehalfOf: null, requestId };
    const body = packCalls([{ requestId, deadlineMs, call, actor }]);
    const [answered] = unpackOutcomes(await client.request('vouch.test.a', body, { requestId, deadlineMs }));
    expect(calls.map(({ deadlineMs: _, ...sent }) => sent)).to.deep.equal([{ requestId, call, actor }]);
    const { ok } = answered as typeof outcome;
    expect({ ...ok, vector: text(ok.vector) }).to.deep.equal({ ...outcome.ok, vector: 'vector' });
  });

  it('matches answers to concurrent requests in any order', async () => {
    const { client, server } = fixture();
    const waiting: (() => void)[] = [];
    await server.serve('vouch.test.a', async ({ body }) => {
      const question = text(body);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
      });
      return bytes(`re: ${question}`);
    });
    const count = 200;
    const answers = Promise.all(
      Array.from({ length: count }, (_, i) => client.request('vouch.test.a', bytes(`${i}`), envelope())),
    );
    await eventually('the handler has all of them at once', () => waiting.length === count);
    for (const answer of waiting.reverse()) answer();
    expect((await answers).map(text)).to.deep.equal(Array.from({ length: count }, (_, i) => `re: ${i}`));
  });

  it("delivers one client's messages on a subject in the order sent", async () => {
    const { client, server } = fixture();
    const seen: string[] = [];
    await server.serve('vouch.test.a', async ({ body }) => {
      seen.push(text(body));
      return body;
    });
    const sent = Array.from({ length: 100 }, (_, i) => `${i}`);
    await Promise.all(sent.map((question) => client.request('vouch.test.a', bytes(question), envelope())));
    expect(seen).to.deep.equal(sent);
  });

  it('calls the handler only after `request` has returned', async () => {
    const { client, server } = fixture();
    let called = false;
    await server.serve('vouch.test.a', async ({ body }) => {
      called = true;
      return body;
    });
    const answer = client.request('vouch.test.a', bytes('x'), envelope());
    expect(called).to.equal(false);
    await answer;
    expect(called).to.equal(true);
  });

  it('lets a handler send a request before it answers', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.inner', async ({ body }) => bytes(`<${text(body)}>`));
    await server.serve('vouch.test.outer', (message) => server.request('vouch.test.inner', message.body, message));
    expect(text(await client.request('vouch.test.outer', bytes('x'), envelope()))).to.equal('<x>');
  });
}

function subjectTests(fixture: Fixture): void {
  it('reports at once that a subject has no server', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', echo);
    for (const subject of ['vouch.test.b', 'vouch.test', 'vouch.test.a.b'])
      expect(await rejection(client.request(subject, bytes('x'), envelope(600_000)))).to.be.instanceOf(NotServed);
  });

  it('matches exactly one token by *', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.*.read', async ({ subject }) => bytes(subject));
    for (const subject of ['vouch.test.1.read', 'vouch.test.22.read'])
      expect(text(await client.request(subject, bytes(''), envelope()))).to.equal(subject);
    for (const subject of ['vouch.test.read', 'vouch.test.1.2.read', 'vouch.test.1.write'])
      expect(await rejection(client.request(subject, bytes(''), envelope()))).to.be.instanceOf(NotServed);
  });

  it('delivers a message to one of several servers of a subject', async () => {
    const { client, server } = fixture();
    let served = 0;
    for (let i = 0; i < 3; i++)
      await server.serve('vouch.test.a', async ({ body }) => {
        served++;
        return body;
      });
    for (let i = 0; i < 30; i++) await client.request('vouch.test.a', bytes(`${i}`), envelope());
    expect(served).to.equal(30);
  });

  it('uses the remaining servers after one has stopped', async () => {
    const { client, server } = fixture();
    const first = await server.serve('vouch.test.a', async () => bytes('first'));
    const second = await server.serve('vouch.test.a', async () => bytes('second'));
    await first.stop();
    for (let i = 0; i < 5; i++)
      expect(text(await client.request('vouch.test.a', bytes(''), envelope()))).to.equal('second');
    await second.stop();
    expect(await rejection(client.request('vouch.test.a', bytes(''), envelope()))).to.be.instanceOf(NotServed);
    await server.serve('vouch.test.a', async () => bytes('third'));
    expect(text(await client.request('vouch.test.a', bytes(''), envelope()))).to.equal('third');
  });
}

function deadlineTests(fixture: Fixture): void {
  it('answers unavailable when the deadline passes first', async () => {
    const { client, server } = fixture();
    const gated = gate();
    await server.serve('vouch.test.a', async ({ body }) => {
      await gated.opened;
      return body;
    });
    const error = await expectCode(client.request('vouch.test.a', bytes('x'), envelope(100)), 'unavailable');
    expect(error).not.to.be.instanceOf(NotServed);
    gated.open();
  });

  it('does not send a request after its deadline', async () => {
    const { client, server } = fixture();
    const seen: string[] = [];
    await server.serve('vouch.test.a', async ({ body }) => {
      seen.push(text(body));
      return body;
    });
    await expectCode(client.request('vouch.test.a', bytes('late'), envelope(-1)), 'unavailable');
    await client.request('vouch.test.a', bytes('in time'), envelope());
    expect(seen).to.deep.equal(['in time']);
  });

  it('does not deliver a request that arrives after its deadline', async () => {
    const { client, server } = fixture();
    const seen: string[] = [];
    await server.serve('vouch.test.a', async ({ body }) => {
      seen.push(text(body));
      return body;
    });
    await client.request('vouch.test.a', bytes('first'), envelope());
    const late = envelope(ON_ITS_WAY_MS);
    const refused = expectCode(client.request('vouch.test.a', bytes('late'), late), 'unavailable');
    // Both ends are in this process: nothing is delivered while it is busy.
    while (systemClock.nowMs() <= late.deadlineMs + ON_ITS_WAY_MS);
    await refused;
    await client.request('vouch.test.a', bytes('in time'), envelope());
    expect(seen).to.deep.equal(['first', 'in time']);
  });
}

function failureTests(fixture: Fixture): void {
  it('answers unavailable if the handler rejects, and continues to serve', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', async ({ body }) => {
      if (text(body) === 'bad') throw new Error('a secret of the server');
      return body;
    });
    const error = await expectCode(client.request('vouch.test.a', bytes('bad'), envelope(600_000)), 'unavailable');
    expect(error).not.to.be.instanceOf(NotServed);
    expect(error.message).not.to.contain('secret');
    expect(text(await client.request('vouch.test.a', bytes('good'), envelope()))).to.equal('good');
  });

  it('answers unavailable if the handler throws before it returns a promise', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', () => {
      throw new Error('at once');
    });
    await expectCode(client.request('vouch.test.a', bytes('x'), envelope(600_000)), 'unavailable');
  });
}

function sizeTests(fixture: Fixture): void {
  it('carries bodies of maxPayloadBytes in both directions', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', echo);
    const body = new Uint8Array(client.maxPayloadBytes);
    for (let i = 0; i < body.length; i += 997) body[i] = i & 0xff;
    const answer = await client.request('vouch.test.a', body, envelope());
    expect(Buffer.compare(packedBody(answer), body)).to.equal(0);
  });

  it('carries long bodies beside each other', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', echo);
    const bodies = [3, 2, 1].map((mib) => Buffer.alloc(mib * 1_048_576 + mib, `${mib} `));
    const answers = await Promise.all(bodies.map((body) => client.request('vouch.test.a', body, envelope())));
    expect(answers.map((answer, i) => Buffer.compare(packedBody(answer), bodies[i]!))).to.deep.equal([0, 0, 0]);
  });

  it('refuses a larger body before sending it', async () => {
    const { client, server } = fixture();
    let called = false;
    await server.serve('vouch.test.a', async () => {
      called = true;
      return bytes('');
    });
    const body = new Uint8Array(client.maxPayloadBytes + 1);
    await expectCode(client.request('vouch.test.a', body, envelope()), 'payload_too_large');
    expect(called).to.equal(false);
  });

  it('answers unavailable if the answer is too large to send', async () => {
    const { client, server } = fixture();
    await server.serve('vouch.test.a', async () => new Uint8Array(server.maxPayloadBytes + 1));
    await expectCode(client.request('vouch.test.a', bytes('x'), envelope(600_000)), 'unavailable');
  });
}

function publishTests(fixture: Fixture): void {
  it('delivers to every listener in order, but not after its stop', async () => {
    const { client, server } = fixture();
    const received: string[][] = [[], [], []];
    const listen = (at: number, subject: string) =>
      server.listen(subject, (published, body) => received[at]!.push(`${published} ${text(body)}`));
    const [, , third] = await Promise.all([
      listen(0, 'vouch.test.a'),
      listen(1, 'vouch.test.*'),
      listen(2, 'vouch.test.a'),
    ]);
    for (let i = 0; i < 50; i++) client.publish('vouch.test.a', bytes(String(i)));
    await eventually('every listener has received all', () => received.every(({ length }) => length === 50));
    const all = Array.from({ length: 50 }, (_, i) => `vouch.test.a ${i}`);
    expect(received).to.deep.equal([all, all, all]);
    await third!.stop();
    client.publish('vouch.test.a', bytes('last'));
    await eventually('the other listeners receive it', () => received[0]!.length === 51 && received[1]!.length === 51);
    expect(received[2]).to.have.length(50);
  });

  it('publish throws neither without a listener, nor for a message too large, nor after the close', async () => {
    const { client, server, closeClient } = fixture();
    let received = 0;
    await server.listen('vouch.test.a', () => {
      received++;
      throw new Error('a listener fails');
    });
    client.publish('vouch.test.b', bytes('x'));
    client.publish('vouch.test.a', new Uint8Array(client.maxPayloadBytes + 1));
    client.publish('vouch.test.a', bytes('1'));
    client.publish('vouch.test.a', bytes('2'));
    await eventually('the message after a failure arrives', () => received === 2);
    await closeClient();
    client.publish('vouch.test.a', bytes('3'));
  });
}

function endTests(fixture: Fixture): void {
  it('finishes running requests when it stops, and accepts no new ones', async () => {
    const { client, server } = fixture();
    const gated = gate();
    let started = 0;
    const serving = await server.serve('vouch.test.a', async ({ body }) => {
      started++;
      await gated.opened;
      return body;
    });
    const answer = client.request('vouch.test.a', bytes('under way'), envelope());
    await eventually('the handler has it', () => started === 1);
    let stopped = false;
    const stopping = serving.stop().then(() => {
      stopped = true;
    });
    await eventually('the subject is free', async () => {
      const error = await rejection(client.request('vouch.test.a', bytes('new'), envelope(200)));
      return error instanceof NotServed;
    });
    expect(stopped).to.equal(false);
    gated.open();
    expect(text(await answer)).to.equal('under way');
    await stopping;
    await serving.stop();
    const taken = started;
    expect(await rejection(client.request('vouch.test.a', bytes('new'), envelope()))).to.be.instanceOf(NotServed);
    expect(started).to.equal(taken);
  });

  it('answers unavailable to a request that a close interrupts', async () => {
    const { client, server, closeClient } = fixture();
    const gated = gate();
    let started = false;
    await server.serve('vouch.test.a', async ({ body }) => {
      started = true;
      await gated.opened;
      return body;
    });
    const refused = expectCode(client.request('vouch.test.a', bytes('x'), envelope(600_000)), 'unavailable');
    await eventually('the handler has it', () => started);
    const closing = closeClient();
    await refused;
    gated.open();
    await closing;
  });

  it('request and serve of a closed transport answer unavailable', async () => {
    const { client, closeClient } = fixture();
    await closeClient();
    await expectCode(client.request('vouch.test.a', bytes('x'), envelope()), 'unavailable');
    await expectCode(client.serve('vouch.test.a', echo), 'unavailable');
  });
}
