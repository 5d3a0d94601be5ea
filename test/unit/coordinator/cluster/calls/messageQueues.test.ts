import { expect } from 'chai';
import { type CallRoute, MessageQueues } from '../../../../../coordinator/cluster/calls/messageQueues.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('calls in a message queue', () => {
  const { setTimeout } = globalThis;
  const timers: { run: () => void; ms: number }[] = [];
  // A turn of the event loop may take longer than two milliseconds, so the test runs the timers itself.
  before(() => {
    globalThis.setTimeout = ((run: () => void, ms: number) => timers.push({ run, ms })) as unknown as typeof setTimeout;
  });
  beforeEach(() => timers.splice(0));
  after(() => {
    globalThis.setTimeout = setTimeout;
  });

  const start = (unansweredMax?: number) => {
    const sent: string[] = [];
    const answers: (() => void)[] = [];
    const queues = new MessageQueues<string>(({ collectionId, route, calls }) => {
      sent.push(`${collectionId} ${route} ${calls.join('')}`);
      return new Promise<void>((resolve) => answers.push(resolve));
    }, unansweredMax);
    const push = (calls: string, route: CallRoute = 'read', collectionId = 7): void => {
      for (const call of calls) queues.push(collectionId, route, call);
    };
    /** Answers message number `message`, from 0. */
    const answer = (message: number): Promise<void> => {
      answers[message]!();
      return turn();
    };
    return { sent, push, answer };
  };

  it('are sent with the others of their turn of the event loop, by collection and route', async () => {
    const { sent, push } = start();
    push('a');
    push('b');
    push('w', 'write');
    push('x', 'read', 8);
    expect(sent).to.deep.equal([]);
    await turn();
    expect(sent).to.deep.equal(['7 read ab', '7 write w', '8 read x']);
  });

  it('travel in two messages if there are many, and none of their queue is unanswered', async () => {
    const { sent, push } = start();
    push('abcdefghijklmno');
    push('a'.repeat(8) + 'b'.repeat(9), 'write');
    await turn();
    expect(sent).to.deep.equal(['7 read abcdefghijklmno', `7 write ${'a'.repeat(8)}b`, `7 write ${'b'.repeat(8)}`]);
    push('c'.repeat(16));
    await turn();
    expect(sent.slice(3)).to.deep.equal([`7 read ${'c'.repeat(16)}`]);
  });

  it('wait while three messages of their queue are unanswered, independently of other queues', async () => {
    const { sent, push, answer } = start();
    for (const call of 'abc') {
      push(call);
      await turn();
    }
    expect(sent).to.deep.equal(['7 read a', '7 read b', '7 read c']);
    push('d');
    push('x', 'read', 8);
    push('w', 'write');
    await turn();
    push('ef');
    expect(sent.slice(3)).to.deep.equal(['8 read x', '7 write w']);
    await answer(1);
    expect(sent.slice(5)).to.deep.equal(['7 read def']);
    // Three are unanswered again.
    push('g');
    await turn();
    expect(sent.length).to.equal(6);
    await answer(0);
    await answer(2);
    expect(sent.slice(6)).to.deep.equal(['7 read g']);
    push('h');
    await turn();
    expect(sent.slice(7)).to.deep.equal(['7 read h']);
  });

  it('travel undivided, one message at a time, where one may be unanswered', async () => {
    const { sent, push, answer } = start(1);
    push('a'.repeat(16));
    await turn();
    push('b');
    await turn();
    expect(sent).to.deep.equal([`7 read ${'a'.repeat(16)}`]);
    await answer(0);
    expect(sent.slice(1)).to.deep.equal(['7 read b']);
  });

  it('wait at most two milliseconds for answers', async () => {
    const { sent, push, answer } = start();
    for (const call of 'abc') {
      push(call);
      await turn();
    }
    push('de');
    await turn();
    push('f');
    await turn();
    expect(sent.length).to.equal(3);
    expect(timers.map(({ ms }) => ms)).to.deep.equal([2]);
    timers[0]!.run();
    expect(sent.slice(3)).to.deep.equal(['7 read def']);
    // Four are unanswered now, so two more answers are needed.
    await answer(0);
    push('g');
    await turn();
    expect(sent.length).to.equal(4);
    await answer(1);
    expect(sent.slice(4)).to.deep.equal(['7 read g']);
  });
});
