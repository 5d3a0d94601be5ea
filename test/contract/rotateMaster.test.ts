/**
 * `npm run keys -- rotate-master` beside a running service: what the operator sees, and that clients notice nothing.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { findBytes } from '../support/findBytes.js';
import { inBothModesAtLengthIn } from '../support/launch/modes.js';
import { type Launched, launchNode } from '../support/launch/process.js';
import type { Client, Service } from '../support/launch/service.js';

const KEYS = fileURLToPath(new URL('../../scripts/keys.js', import.meta.url));

async function runKeys(service: Service, ...args: string[]): Promise<Launched> {
  const run = launchNode(KEYS, args, { env: service.environment });
  await run.waitForEnd();
  return run;
}

const insert = async (rw: Client, n: number): Promise<void> => {
  const payload = Buffer.from(`payload ${n}`).toString('base64');
  const { status, text } = await rw.post('/v1/records/encrypted', { collection: 'c', payload });
  expect(status, text).to.equal(200);
};

inBothModesAtLengthIn('cluster', 'a rotation of the master key', (_shared, { start }) => {
  let service: Service;
  before(async () => {
    service = await start({});
  });

  it('is invisible to clients, and leaves nothing that the old key opens', async () => {
    const file = join(service.dataDir, 'master.key');
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    let records = 0;
    for (; records < 20; records++) await insert(rw, records);
    const before = await readFile(file);
    const oldKey = before.subarray(8, 40);
    let rotating = true;
    const load = (async () => {
      while (rotating) await insert(rw, records++);
    })();
    const rotation = await runKeys(service, 'rotate-master').finally(() => {
      rotating = false;
    });
    await load;
    expect(rotation.output).to.match(
      /✔ master key +[0-9a-f]{16} has replaced [0-9a-f]{16}, which is erased; data keys rewrapped: \d+/,
    );
    expect(rotation.output).to.match(new RegExp(`! next +copy ${file} over that of every other machine`));
    for (let n = 0; n < records; n++) {
      const { body } = await rw.get(`/v1/records/encrypted/${n + 1}?collection=c`);
      expect(Buffer.from(body.payload, 'base64').toString()).to.equal(`payload ${n}`);
    }
    expect(await findBytes(service.dataDir, { oldKey })).to.deep.equal([]);
    if (service.mode === 'cluster') expect(await findBytes(service.nats.dataDir, { oldKey })).to.deep.equal([]);
    for (const name of service.processNames) {
      await service.kill(name);
      await service.restart(name);
    }
    await service.until(async () => (await rw.get('/v1/records/encrypted/1?collection=c')).status === 200);
  });

  it('explains what to do if it fails, and leaves the key unchanged', async () => {
    const file = join(service.dataDir, 'master.key');
    const before = await readFile(file);
    const unknown = await runKeys(service, 'rotate-master', '--perpare');
    expect(unknown.output)
      .to.contain("Unknown option '--perpare'")
      .and.to.contain('npm run keys -- --help shows the usage');
    const prepared = await runKeys(service, 'rotate-master', '--prepare');
    expect(prepared.output).to.match(
      /✔ master key +[0-9a-f]{16} is added beside [0-9a-f]{16} in .*, and is not used yet/,
    );
    expect(prepared.output).to.match(/next +copy .*master\.key to every other machine with shards, then:/);
    const now = await readFile(file);
    expect(now).to.have.length(before.length + 32);
    expect(now.subarray(40, 72)).to.deep.equal(before.subarray(8, 40));
  });
});
