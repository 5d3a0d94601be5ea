/** Real processes of a cluster with different versions of the messages between them. */
import { expect } from 'chai';
import { PROTOCOL_VERSION } from '../../shared/protocol/version.js';
import { speaksAnother } from '../../shared/transport/transportErrors.js';
import { speaking } from '../support/launch/otherProtocol.js';
import { Service } from '../support/launch/service.js';

const OTHER = PROTOCOL_VERSION + 1;
const SOON_GIVEN_UP = { VOUCH_HEARTBEAT_MS: '200', VOUCH_LEASE_MS: '2000', VOUCH_FAILOVER_MS: '2500' };

describe('a process of another message version', () => {
  let service: Service;
  before(async () => {
    service = await Service.start('cluster', SOON_GIVEN_UP, { shards: 1 });
  });
  after(() => service?.stop());

  it('waits, names the running ones with both versions, and is refused by them', async () => {
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'a', dimension: 1, metric: 'squared_l2' });
    const waiting = [
      [service.run('s2', speaking(OTHER)), 's2'],
      [service.run('coordinator2', speaking(OTHER)), 'coordinator2'],
    ] as const;
    for (const [, name] of waiting) {
      await service.until(async () => service.process(name) !== undefined);
      const line = await service.process(name).waitForLine(/waiting for all processes to have one version/);
      expect(line).to.match(/(?:shard s1|coordinator \S+) speaks version \d+ of .* and this process version \d+/);
    }
    const { body } = await service.client(undefined).get('/health');
    expect(body).to.include({ status: 'ok', shard_count: 1 });

    await service.end('s1');
    await waiting[0][0];
    const reason = speaksAnother('shard s2', OTHER, PROTOCOL_VERSION);
    await service.until(async () => (await service.client(undefined).get('/health')).body.reason === reason);
    const refusal = speaksAnother('the sender of a call', PROTOCOL_VERSION, OTHER);
    await service.until(async () => {
      const { status, body } = await rw.post('/v1/records', { collection: 'a', values: [1] });
      return status === 503 && body.error === refusal;
    });
    await service.process('s2').waitForLine(/the sender of a call speaks version \d+ of/);

    await service.end('coordinator');
    await waiting[1][0];
    await service.untilShards(1, 'coordinator2');
    await service.until(async () => {
      const later = service.client(rw.key, 'coordinator2');
      return (await later.post('/v1/records', { collection: 'a', values: [1] })).status === 200;
    });
  });
});
