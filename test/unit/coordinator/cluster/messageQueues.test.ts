import { expect } from 'chai';
import { type CallRoute, MessageQueues } from '../../../../coordinator/cluster/messageQueues.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

describe('calls that wait to travel', () => {
  const start = () => {
    const sent: string[] = [];
    const queues = new MessageQueues<string>(({ collectionId, route, calls }) => {
      sent.push(`${collectionId} ${route} ${calls.join('')}`);
    });
    const push = (calls: string, route: CallRoute = 'read', collectionId = 7): void => {
      for (const call of calls) queues.push(collectionId, route, call);
    };
    return { sent, push };
  };

  it('travel with the others of their turn of the event loop, by collection and route', async () => {
    const { sent, push } = start();
    push('a');
    push('b');
    push('w', 'write');
    push('x', 'read', 8);
    expect(sent).to.deep.equal([]);
    await turn();
    expect(sent).to.deep.equal(['7 read ab', '7 write w', '8 read x']);
  });

  it('wait for no answer of those before', async () => {
    const { sent, push } = start();
    for (const call of 'abc') {
      push(call);
      await turn();
    }
    expect(sent).to.deep.equal(['7 read a', '7 read b', '7 read c']);
  });
});
