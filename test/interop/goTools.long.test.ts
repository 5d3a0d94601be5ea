/**
 * A real service log, read and cosigned by third-party libraries: `golang.org/x/mod/sumdb`, `filippo.io/torchwood` and
 * `github.com/transparency-dev/witness`.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { verifyLogged } from '../../verifier/index.js';
import { type Launched, launch } from '../support/launch/process.js';
import { WitnessedService } from '../support/rigs/witnessedService.js';
import { skip } from '../support/skip.js';
import { ROOT } from '../support/sourceTree.js';

const run = promisify(execFile);
const BUILD_MS = 600_000;
const STARTED = /^witness \S+ (\S+) (\S+)$/;

describe('third-party tools for transparency logs', function () {
  this.timeout(BUILD_MS);
  let folder: string;
  let program: string;
  let witness: Launched | undefined;
  let rig: WitnessedService | undefined;

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'vouch-interop-'));
    program = join(folder, 'interop');
    try {
      await run('go', ['build', '-C', join(ROOT, 'test/interop'), '-o', program, '.'], { timeout: BUILD_MS });
    } catch (error) {
      const reason = (error as { stderr?: string }).stderr || (error as Error).message;
      skip(
        this,
        `the tools are Go modules, and Go or the module proxy is missing: ${reason.trim().split('\n').at(-1)}`,
      );
    }
    rig = await WitnessedService.start('standalone', 3, {}, async (logKey) => {
      witness = launch(program, ['witness', 'others.example', logKey]);
      const [, key, url] = STARTED.exec(await witness.waitForLine(STARTED))!;
      return [`witness w3 ${key} ${url}`];
    });
  });
  after(async () => {
    await rig?.stop();
    await witness?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('agree with the service log about notes, tiles, entries and proofs, and cosign it', async () => {
    const { service, policy, policyFile } = rig!;
    const { rw, ro } = await service.newProject();
    for (let i = 0; i < 20; i++) {
      await rw.post('/v1/namespaces', { name: `c${i}`, dimension: 2, metric: 'squared_l2' });
      await rw.post('/v1/records', { collection: `c${i}`, values: [i, 1] });
      // Logged one by one, so that the log has checkpoints of many sizes.
      const { status, text } = await ro.get(`/v1/proof/checkpoint?collection=c${i}&logged=true`);
      expect(status, text).to.equal(200);
    }
    const { body } = await ro.get('/v1/proof/checkpoint?collection=c7&logged=true');
    const { log } = verifyLogged(body, policy);
    expect(log.witnesses.map(({ name }) => name)).to.deep.equal(['w1', 'w2', 'w3']);
    const [proof, entry] = [join(folder, 'proof'), join(folder, 'entry')];
    await writeFile(proof, body.service_log.proof);
    await writeFile(entry, Buffer.from(body.service_log.entry, 'base64url'));
    const { stdout } = await run(program, ['check', `${service.url}/log`, policyFile, proof, entry]);
    const [signed, accepted, entries, consistent, included] = stdout.trim().split('\n');
    expect(signed).to.equal('note: signed by vouch.example/log');
    const size = Number(/^torchwood: the policy holds for (\d+) entries of vouch.example\/log$/.exec(accepted!)?.[1]);
    expect(size).to.be.at.least(20);
    expect(entries).to.equal(`torchwood: ${size} entries verify`);
    expect(consistent).to.equal(`tlog: the log goes on from each of its ${size} sizes`);
    expect(included).to.equal('torchwood: the proof of the entry holds');
  });

  it('stop a log that was rolled back below what only they have cosigned', async () => {
    const { service } = rig!;
    const { rw } = await service.newProject();
    await rw.post('/v1/namespaces', { name: 'c', dimension: 2, metric: 'squared_l2' });
    const insert = async (): Promise<void> => {
      const { status, text } = await rw.post('/v1/records', { collection: 'c', values: [1, 1] });
      expect(status, text).to.equal(200);
    };
    await insert();
    await rig!.untilCosigned(['others', 'w1', 'w2']);
    await service.end('standalone');
    const copy = join(folder, 'copy');
    await cp(service.dataDir, copy, { recursive: true });
    await service.restart('standalone');
    const { size } = await rig!.checkpoint();
    await insert();
    await rig!.untilCosigned(['others', 'w1', 'w2'], size + 1);
    await service.end('standalone');
    await rm(service.dataDir, { recursive: true });
    await cp(copy, service.dataDir, { recursive: true });
    for (const n of [1, 2]) await rig!.killWitness(n);
    await service.restart('standalone');
    await service.until(async () => (await service.metric('vouch_log_stalled')) === 1);
    await insert();
    expect((await rig!.checkpoint()).size, 'no other checkpoint is signed').to.equal(size);
    const alarm = /w3 says that it has cosigned \d+ entries, and there are/;
    await service.until(async () => alarm.test(service.process('standalone').output));
  });
});
