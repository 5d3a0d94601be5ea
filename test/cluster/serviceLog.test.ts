// Covers: coordinator/cluster/reports/logSources.ts, coordinator/serviceLog/serviceLog.ts
/** The service log of a cluster: its readers at any coordinator, and its writers. */
import { expect } from 'chai';
import { BUCKETS } from '../../shared/bucket/buckets.js';
import { catalogKey } from '../../shared/registry/catalogEntry.js';
import {
  isConsistent,
  LogAlarm,
  parseNote,
  parsePolicy,
  parseTreeHead,
  TileTree,
  type TreeHead,
  tilePath,
  tileWidth,
  toHex,
  verifyLogged,
  visitLog,
} from '../../verifier/index.js';
import { atLength } from '../support/atLength.js';
import { answered } from '../support/launch/answers.js';
import type { Answer } from '../support/launch/client.js';
import { onceServed } from '../support/launch/persistently.js';
import { type Project, Service } from '../support/launch/service.js';

const COORDINATORS = ['coordinator', 'coordinator2'];

describe('the service log of a cluster', () => {
  let service: Service;
  let project: Project;
  before(async () => {
    service = await Service.start('cluster', { VOUCH_LOG_EVERY_MS: '200' }, { shards: 2, coordinators: 2 });
    project = await service.newProject();
  });
  after(() => service?.stop());

  const text = async (path: string, coordinator = COORDINATORS[0]!): Promise<string> => {
    const response = await fetch(`${service.urlOf(coordinator)}/log/${path}`);
    expect(response.status, path).to.equal(200);
    return Buffer.from(await response.arrayBuffer()).toString('hex');
  };
  const head = async (coordinator = COORDINATORS[0]!): Promise<TreeHead> =>
    parseTreeHead(parseNote(Buffer.from(await text('checkpoint', coordinator), 'hex').toString('utf8')).text);
  const write = async (collection: string, coordinator = COORDINATORS[0]!): Promise<void> => {
    const rw = service.client(project.rw.key, coordinator);
    const made = { name: collection, dimension: 2, metric: 'squared_l2' };
    answered(await onceServed(() => rw.post('/v1/namespaces', made)));
    answered(await rw.post('/v1/records', { collection, values: [1, 2] }));
  };
  const logged = async (collection: string, coordinator: string): Promise<Answer['body']> => {
    const ro = service.client(project.ro.key, coordinator);
    const path = `/v1/proof/checkpoint?collection=${collection}&logged=true`;
    return answered(await onceServed(() => ro.get(path)));
  };

  it('is equal, byte for byte, at every coordinator', async () => {
    for (let i = 0; i < 10; i++) await write(`same${i}`);
    const policy = parsePolicy(`log ${await service.logKey()}\nquorum none\n`);
    for (const coordinator of COORDINATORS) {
      expect(verifyLogged(await logged('same9', coordinator), policy).checkpoint.size).to.equal(2n);
    }
    await service.until(async () => (await head()).size >= 10);
    await service.until(async () => (await text('checkpoint')) === (await text('checkpoint', COORDINATORS[1])));
    const { size } = await head();
    for (const level of [0, 'entries'] as const)
      for (const width of [1, size >> 1, tileWidth(size, level, 0)]) {
        const [one, other] = await Promise.all(
          COORDINATORS.map((coordinator) => text(tilePath({ level, index: 0, width }), coordinator)),
        );
        expect(one).to.equal(other).and.have.length.above(0);
      }
  });

  it('continues when its writer is killed, under the same key, and does not fork', async () => {
    let before = await head();
    for (const [round, killed] of [...COORDINATORS, ...COORDINATORS].entries()) {
      const other = COORDINATORS.find((name) => name !== killed)!;
      const writing = write(`killed${round}`, other);
      await service.kill(killed);
      await writing;
      await logged(`killed${round}`, other);
      await service.restart(killed);
      await service.until(async () => (await head(killed)).size > before.size);
      const now = await head(killed);
      expect(now.origin).to.equal(before.origin);
      const tree = new TileTree(now.size, async (name) => Buffer.from(await text(tilePath(name), killed), 'hex'));
      expect(toHex(await tree.root())).to.equal(toHex(now.root));
      expect(isConsistent(before, now, await tree.consistency(before.size)), `round ${round}`).to.equal(true);
      before = now;
    }
  });

  it('includes the commits of a killed shard once the collection is served again', async () => {
    await write('survivor');
    await logged('survivor', COORDINATORS[0]!);
    const { body } = await project.rw.get('/v1/namespaces');
    const { id } = body.collections.find(({ name }: { name: string }) => name === 'survivor');
    const owner = await service.ownerOf(id);
    const { status } = await project.rw.post('/v1/records', { collection: 'survivor', values: [3, 4] });
    expect(status).to.equal(200);
    await service.kill(owner);
    await service.restart(owner);
    const policy = parsePolicy(`log ${await service.logKey()}\nquorum none\n`);
    await service.until(async () => {
      const body = await logged('survivor', COORDINATORS[0]!);
      return verifyLogged(body, policy).checkpoint.size === 3n;
    });
  });

  it(atLength('reports a collection whose catalog entry was deleted, which alarms its readers'), async () => {
    const follow = async () => visitLog(async (path) => Buffer.from(await text(path), 'hex'), policy, undefined);
    await write('stolen');
    const policy = parsePolicy(`log ${await service.logKey()}\nquorum none\n`);
    await logged('stolen', COORDINATORS[0]!);
    await follow();
    const { body } = await project.rw.get('/v1/namespaces');
    const { id } = body.collections.find(({ name }: { name: string }) => name === 'stolen');
    const catalog = await (await service.platform()).bucket(BUCKETS.catalog);
    expect(await catalog.delete(catalogKey(project.name, 'stolen'))).to.equal(true);
    await service.until(async () => {
      const outcome = await follow().catch((error: unknown) => error);
      return outcome instanceof LogAlarm && outcome.message.includes(`has lost 1 of its collections (ids ${id})`);
    });
  });
});
