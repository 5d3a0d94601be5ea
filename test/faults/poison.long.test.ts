/** A collection whose opening blocks or ends every process that tries it, for any reason, and one that opens slowly. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { launchNode } from '../support/launch/process.js';
import { type Mode, type Project, Service } from '../support/launch/service.js';

const LEASE_MS = 1_000;
const TIMES = {
  VOUCH_DEADLINE_MS: '1500',
  VOUCH_HEARTBEAT_MS: '200',
  VOUCH_LEASE_MS: String(LEASE_MS),
  VOUCH_FAILOVER_MS: '2500',
};
/** Longer than another shard needs to become the owner and to ask this one. */
const BLOCKED_MS = 6_000;
const INNOCENTS = ['a', 'b', 'c', 'd', 'e', 'f'];
const KEYS = fileURLToPath(new URL('../../scripts/keys.js', import.meta.url));

/** Content of the file that ends the process like a crash. */
const ENDS = 'ends';
/** Content of the file: milliseconds for which each text blocks the process. */
const SLOW_MS = '25';

/**
 * Loaded into every process: texts with this word block or end it while the file exists. The blocked time is all CPU
 * time, however busy the machine.
 */
const POISON = (file: string): string => `
  import { existsSync, readFileSync } from 'node:fs';
  const cpuUsage = process.cpuUsage.bind(process);
  let owedUs = 0;
  process.cpuUsage = (before) => {
    const { user, system } = cpuUsage();
    return before ? { user: user + owedUs - before.user, system: system - before.system } : { user: user + owedUs, system };
  };
  const usedUs = () => { const { user, system } = cpuUsage(); return user + system; };
  for (const name of ['normalize']) {
    const original = String.prototype[name];
    String.prototype[name] = function (...args) {
      if (this.includes('poisön') && existsSync(${JSON.stringify(file)})) {
        const what = readFileSync(${JSON.stringify(file)}, 'utf8');
        if (what === ${JSON.stringify(ENDS)}) process.kill(process.pid, 'SIGKILL');
        const [startedMs, startedUs] = [performance.now(), usedUs()];
        while (performance.now() - startedMs < (Number(what) || ${BLOCKED_MS}));
        owedUs += Math.max(0, (performance.now() - startedMs) * 1000 - (usedUs() - startedUs));
      }
      return original.apply(this, args);
    };
  }`;

describe('a collection whose opening blocks or ends its process', () => {
  let folder: string;
  let poison: string;
  let service: Service;
  let project: Project;
  let poisonousId: number;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vouch-poison-'));
    poison = join(folder, 'poison');
    await writeFile(join(folder, 'poison.mjs'), POISON(poison));
  });
  afterEach(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (mode: Mode): Promise<void> => {
    const NODE_OPTIONS = `--import=${pathToFileURL(join(folder, 'poison.mjs')).href}`;
    service = await Service.start(mode, { ...TIMES, NODE_OPTIONS }, { shards: 3 });
    project = await service.newProject();
    for (const name of ['poisonous', ...INNOCENTS]) {
      const { body } = await project.rw.post('/v1/namespaces', { name, dimension: 1, metric: 'squared_l2' });
      if (name === 'poisonous') poisonousId = body.id;
      const text = name === 'poisonous' ? 'poisön' : 'harmless';
      await service.until(async () => {
        const { status } = await project.rw.post('/v1/records', { collection: name, values: [1], text });
        return status === 200;
      });
    }
  };
  const shards = () => service.processNames.filter((name) => name !== 'coordinator');
  const restart = async (end: (name: string) => Promise<unknown>): Promise<void> => {
    await Promise.all(shards().map(end));
    await Promise.all(shards().map((name) => service.run(name)));
    await service.untilShards(shards().length);
  };
  const kill = (name: string) => service.kill(name);
  const search = (collection: string) => project.ro.post('/v1/search', { collection, query: [0], k: 1 });
  const areAnswered = async (): Promise<boolean> => {
    const answers = await Promise.all(INNOCENTS.map(search));
    return answers.every(({ status }) => status === 200);
  };
  const isQuarantined = async (): Promise<boolean> => {
    const { status, body } = await search('poisonous');
    return status === 500 && body.error.includes('its opening stopped a shard');
  };
  const release = async (): Promise<string> => {
    const run = launchNode(KEYS, ['release', String(poisonousId)], {
      env: { ...service.environment, NODE_OPTIONS: '' },
    });
    await run.waitForEnd();
    return run.output;
  };
  const isReported = async (): Promise<boolean> => {
    const { body } = await service.client(undefined).get('/health');
    return (body.damaged ?? []).some(
      (each: { collection_id: number; part: string }) => each.collection_id === poisonousId && each.part === 'opening',
    );
  };

  /** All other collections serve, through restarts and until a release. */
  const expectOthersServe = async (): Promise<void> => {
    await service.until(async () => (await isReported()) && (await areAnswered()));
    expect(await service.metric('vouch_damaged', 'part="opening"')).to.equal(1);
    await restart((name) => service.end(name));
    await service.until(async () => (await isReported()) && (await areAnswered()));
    for (let i = 0; i < 20; i++) {
      expect(await isQuarantined()).to.equal(true);
      expect(await areAnswered()).to.equal(true);
    }
    // A shard may lose its lease for other reasons too: only failed openings count here.
    expect(await service.metric('vouch_openings_failed_total')).to.equal(0);
    await rm(poison);
    expect(await release()).to.match(/✔ collection +\d+ is released/);
    await service.until(async () => (await search('poisonous')).status === 200);
    expect((await search('poisonous')).body.results).to.have.length(1);
    await service.until(async () => !(await isReported()));
    expect(await release()).to.contain(`no opening of collection ${poisonousId} has failed`);
  };

  it('is quarantined in a cluster after two shards, while the others serve', async () => {
    await start('cluster');
    await writeFile(poison, '');
    await restart(kill);
    await service.until(isQuarantined);
    const failed = await service.metric('vouch_openings_failed_total');
    expect(failed).to.be.within(2, 4);
    await expectOthersServe();
  });

  it('is quarantined in a standalone node the second time, while the others serve', async () => {
    await start('standalone');
    await writeFile(poison, '');
    await restart(kill);
    await search('poisonous');
    await service.until(areAnswered);
    await service.process('standalone').waitForLine(/has cost a shard its lease/);
    expect(await isReported()).to.equal(false);
    await restart((name) => service.end(name));
    await service.until(isQuarantined);
    const lines = (await readFile(join(service.dataDir, 'logs', 'service.log'), 'utf8')).split('\n');
    const stall = lines.find((line) => line.includes('a turn of a thread took too long') && line.includes('poisonous'));
    expect(JSON.parse(stall ?? '{}')).to.deep.include({ level: 40, op: 'replay', project: project.name });
    await expectOthersServe();
  });

  it('is quarantined in a standalone node after it has ended four processes', async () => {
    await start('standalone');
    await writeFile(poison, ENDS);
    await service.kill('standalone');
    for (let ends = 0; ends < 4; ends++) {
      await service.run('standalone');
      await service.untilShards(1);
      // Killed before it answers.
      expect(await search('poisonous').catch(() => undefined)).to.equal(undefined);
      await service.process('standalone').waitForEnd();
    }
    await service.run('standalone');
    await service.untilShards(1);
    expect(await isQuarantined()).to.equal(true);
    await expectOthersServe();
  });

  it('stays open, if an operator keeps killing processes during its slow opening', async () => {
    await start('standalone');
    const text = 'poisön';
    for (let i = 0; i < 40; i++) await project.rw.post('/v1/records', { collection: 'poisonous', values: [1], text });
    await writeFile(poison, SLOW_MS);
    const note = join(service.dataDir, 'openings.note');
    for (let kills = 0; kills < 7; kills++) {
      await restart(kill);
      void search('poisonous').catch(() => undefined);
      await service.until(
        async () => (await readFile(note, 'utf8')).split('\n')[0]?.includes(`"${poisonousId}":`) ?? false,
      );
      // A moment within an opening that takes a second.
      await delay(100 + kills * 100);
    }
    await rm(poison);
    await restart(kill);
    await service.until(async () => (await search('poisonous')).status === 200);
    expect(await areAnswered()).to.equal(true);
    expect(await service.metric('vouch_damaged', 'part="opening"')).to.equal(0);
  });
});
