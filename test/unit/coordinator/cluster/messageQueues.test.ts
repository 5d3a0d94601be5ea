import { expect } from 'chai';
import { type CallRoute, MessageQueues } from '../../../../coordinator/cluster/messageQueues.js';
import { Metrics } from '../../../../shared/metrics/metrics.js';
import { eventually } from '../../../support/suites/expectations.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('calls that wait to travel', () => {
  const start = () => {
    const sent: string[] = [];
    const answers: (() => void)[] = [];
    const clock = { monotonicMs: () => clock.nowMs, nowMs: 0 };
    const queues = new MessageQueues<string>(
      ({ collectionId, route, calls }) => {
        sent.push(`${collectionId} ${route} ${calls.join('')}`);
        return new Promise<void>((resolve) => answers.push(resolve));
      },
      clock,
      new Metrics('coordinator'),
    );
    const push = (calls: string, route: CallRoute = 'read', collectionId = 7): void => {
      for (const call of calls) queues.push(collectionId, route, call);
    };
    return { sent, answers, clock, push };
  };

  it('wait for nobody alone, and for the others of their turn of the event loop', async () => {
    const { sent, push } = start();
    push('a');
    push('b');
    push('w', 'write');
    push('x', 'read', 8);
    expect(sent).to.deep.equal([]);
    await turn();
    expect(sent).to.deep.equal(['7 read ab', '7 write w', '8 read x']);
  });

  it('are held while others of their collection and route are unanswered, and then travel together', async () => {
    const { sent, answers, push } = start();
    push('a');
    await turn();
    push('b');
    await turn();
    push('c');
    push('w', 'write');
    await turn();
    expect(sent).to.deep.equal(['7 read a', '7 write w']);
    answers[0]!();
    push('d');
    await turn();
    expect(sent).to.deep.equal(['7 read a', '7 write w', '7 read bcd']);
    answers[2]!();
    await turn();
    push('e');
    await turn();
    expect(sent.at(-1)).to.equal('7 read e');
  });

  it('are held for a millisecond and no longer, however long the others take', async () => {
    const { sent, answers, clock, push } = start();
    push('a');
    await turn();
    push('b');
    await turn();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(sent).to.deep.equal(['7 read a']);
    clock.nowMs += 1;
    await eventually('the held call is sent', async () => sent.length === 2);
    push('c');
    await turn();
    // Of the two that are unanswered both have to be answered.
    answers[0]!();
    await turn();
    expect(sent).to.have.length(2);
    answers[1]!();
    await turn();
    expect(sent.at(-1)).to.equal('7 read c');
  });

  it('of control wait for nobody', async () => {
    const { sent, push } = start();
    push('a', 'control');
    await turn();
    push('b', 'control');
    await turn();
    expect(sent).to.deep.equal(['7 control a', '7 control b']);
  });
});
