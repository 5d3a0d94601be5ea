// Covers: shared/nats/natsConnection.ts, shared/nats/serverVersion.ts
/** A list of NATS servers of which one cannot be used. */
import { expect } from 'chai';
import { pino } from 'pino';
import { eventually } from '../support/expectations.js';
import { startTestNats } from '../support/launch/natsServer.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';
import { Pretender } from '../support/nats/pretender.js';

describe('a NATS server to which a process reconnects', () => {
  const platforms = new ClusterPlatforms();
  afterEach(() => platforms.close());

  for (const [what, info, fault] of [
    ['too old', { version: '2.9.10', jetstream: true }, 'is 2.9.10; replace it by 2.12.0 or newer'],
    ['without JetStream', { version: '2.15.1' }, 'runs without JetStream; start it with JetStream enabled'],
  ] as const)
    it(`is left for another one if it is ${what}, and named in the log once`, async () => {
      const nats = await startTestNats();
      const other = new Pretender(info);
      const port = await other.listen();
      // A process drops servers from its list that fail at the first connection.
      other.leadsTo = Number(new URL(nats.url).port);
      try {
        const lines: string[] = [];
        const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
        const { connection } = await platforms.open(`${nats.url},127.0.0.1:${port}`, { logger });
        const changes: boolean[] = [];
        connection.onChange((connected) => changes.push(connected));
        other.leadsTo = undefined;
        await nats.kill();
        await eventually('the other server was tried twice', () => other.connections >= 2);
        expect(connection.connected).to.equal(false);
        await nats.start();
        await eventually('the first server is used again', () => connection.connected);
        expect(changes).to.deep.equal([false, true]);
        expect(lines).to.have.length(1);
        expect(lines[0]).to.contain(`a NATS server is not used: it ${fault}`).and.to.contain(`127.0.0.1:${port}`);
      } finally {
        other.close();
        await platforms.close();
        await nats.stop();
      }
    });
});
