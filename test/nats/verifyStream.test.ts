/** A log read straight from JetStream while it changes or disappears, and servers without one. */
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { connect } from 'nats';
import { findNatsServer } from '../../scripts/local/natsServer/find.js';
import { systemClock } from '../../shared/clock.js';
import { EMPTY_LOG } from '../../shared/log/chain.js';
import { LOG_START } from '../../shared/log/eventLog.js';
import { buildFrame } from '../../shared/log/frame.js';
import { verifyLog } from '../../verifier/log.js';
import { JetStreamCluster } from '../../verifier/node/index.js';
import { everyEvent } from '../fuzz/targets/samples.js';
import { freePort } from '../support/launch/freePort.js';
import { startTestNats, type TestNats } from '../support/launch/natsServer.js';
import { launch, launchNode } from '../support/launch/process.js';
import { seededRandom } from '../support/model/random.js';
import { ClusterPlatforms } from '../support/nats/clusterPlatforms.js';

const ID = 7;
const STREAMS = 1;
const SILENCE_MS = 300;

const VERIFY = fileURLToPath(new URL('../../scripts/verify.js', import.meta.url));

describe('npm run verify of a NATS server without a service', () => {
  /** The error of the command, which ends with code 2. */
  const errorAt = async (url: string): Promise<string> => {
    const verify = launchNode(VERIFY, ['stream', '--nats', url, '--collection', 'c']);
    expect((await verify.waitForEnd()).code, verify.output).to.equal(2);
    return verify.output;
  };

  it('says that the server has no JetStream, and ends', async () => {
    const port = await freePort();
    const server = launch((await findNatsServer()).path, ['-a', '127.0.0.1', '-p', `${port}`]);
    await server.waitForLine(/Server is ready/);
    expect(await errorAt(`nats://127.0.0.1:${port}`)).to.contain(`no JetStream answers at 127.0.0.1:${port}`);
    await server.kill();
  });

  it('says that nothing is stored there', async () => {
    const nats = await startTestNats();
    expect(await errorAt(nats.url)).to.contain('no Vouch service is stored on this NATS server');
    await nats.stop();
  });
});

describe('the verifier of a log in JetStream', () => {
  const platforms = new ClusterPlatforms();
  let nats: TestNats;
  let cluster: JetStreamCluster;

  beforeEach(async () => {
    nats = await startTestNats();
    const { logs } = await platforms.open(nats.url, { logStreams: STREAMS });
    const log = await logs.open(ID);
    const [genesis, insert, update] = everyEvent(seededRandom(1));
    const one = await buildFrame([genesis!, insert!], EMPTY_LOG, 1, async () => undefined);
    const two = await buildFrame([update!], one.end, 2, async () => undefined);
    const soonMs = systemClock.nowMs() + 10_000;
    await log.append(two.bytes, await log.append(one.bytes, LOG_START, soonMs), soonMs);
    await platforms.close();
    cluster = await JetStreamCluster.connect(nats.url);
  });
  afterEach(async () => {
    await cluster.close();
    await nats.stop();
  });

  it('refuses a log whose end disappears while it is read', async () => {
    const source = await cluster.openLog(BigInt(ID), SILENCE_MS);
    const raw = await connect({ servers: nats.url });
    const manager = await raw.jetstreamManager();
    await manager.streams.purge('VOUCH_LOG_0');
    await raw.close();
    const { refusal } = await verifyLog(source);
    expect(refusal).to.include({ what: 'the message is not there any more', firstSequence: 0n });
    expect(refusal?.place).to.deep.equal({ name: 'VOUCH_LOG_0', message: 2, byte: 0 });
  });

  it('reports a server that ends as such, and not as an altered log', async () => {
    const source = await cluster.openLog(BigInt(ID), SILENCE_MS);
    await nats.kill();
    const error = await verifyLog(source).then(
      ({ refusal }) => refusal?.what,
      (thrown: Error) => thrown,
    );
    expect(error).to.be.instanceOf(Error);
    await nats.start();
  });
});
