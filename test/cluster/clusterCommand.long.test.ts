// Covers: scripts/cluster.ts, scripts/local/clusterView/clusterShow.ts
/** `npm run cluster` as users run it, without a terminal: three NATS servers, two coordinators, three shards. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../support/expectations.js';
import { freePort } from '../support/launch/freePort.js';
import { type Ended, isAlive, type Launched, launch, launchNode } from '../support/launch/process.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/cluster.js', import.meta.url));
/** Printed when everything runs and is watched. */
const SHOWN = /^ +NATS pages +n1 /;

describe('npm run cluster', () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'vouch-cluster-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Launched =>
    launchNode(SCRIPT, args, {
      cwd: folder,
      env: {
        VOUCH_RATE_LIMITS: 'off',
        VOUCH_DATA_DIR: undefined,
        VOUCH_CONFIG: undefined,
        VOUCH_NATS_URL: undefined,
        VOUCH_REPLICAS: undefined,
        INIT_CWD: undefined,
        ...env,
      },
    });
  const refusal = async (...args: string[]): Promise<string> => {
    const command = run(args);
    expect(await command.waitForEnd()).to.deep.equal({ code: 2, signal: null });
    expect(command.lines, command.output).to.have.length(1);
    return command.lines[0]!;
  };

  it('reports wrong arguments in one line, and lists them with --help', async () => {
    expect(await refusal('--nats', '2')).to.equal(
      '✘ cluster       --nats is 2; allowed is 1, 3 or 5; npm run cluster -- --help shows the usage',
    );
    expect(await refusal('--colour')).to.match(/^✘ cluster +Unknown option '--colour'; .* --help/);
    const own = run([], { VOUCH_NATS_URL: 'nats://127.0.0.1:1' });
    expect((await own.waitForEnd()).code).to.equal(2);
    expect(own.lines).to.have.length(1);
    const help = run(['--help']);
    expect(await help.waitForEnd()).to.deep.equal({ code: 0, signal: null });
    expect(help.output).to.include('--coordinators N').and.include('(default 2)');
  });

  it('runs everything, reports its events, and leaves nothing behind', async () => {
    const port = await freePort();
    const size = ['--nats', '3', '--coordinators', '2', '--shards', '3', '--port', String(port)];
    const cluster = run([...size, '--restart-after', '1']);
    await cluster.waitForLine(SHOWN);
    const dataDir = join(folder, 'data', 'cluster');
    const runtime = (): { natsUrl: string; processes: Record<string, number> } =>
      JSON.parse(readFileSync(join(dataDir, 'runtime.json'), 'utf8'));
    const { natsUrl, processes } = runtime();
    expect(Object.keys(processes)).to.have.members([
      ...['nats n1', 'nats n2', 'nats n3', 'shard s1', 'shard s2', 'shard s3'],
      ...['coordinator c1', 'coordinator c2'],
    ]);
    expect(natsUrl.split(',')).to.have.length(3);
    expect(cluster.output).to.match(/process ids +n1 \d+, n2 \d+, n3 \d+; c1 \d+, c2 \d+; s1 \d+, s2 \d+, s3 \d+/);

    const pasted = cluster.lines.find((line) => /^ +try +/.test(line))!.replace(/^ +try +/, '');
    const shell = launch('sh', ['-c', pasted], { cwd: folder });
    await shell.waitForEnd();
    expect(shell.output).to.equal('{"collections":[]}');

    const metrics = cluster.lines.flatMap((line) => /^ +metrics +c\d (\S+)$/.exec(line)?.[1] ?? []);
    expect(new Set(metrics).size).to.equal(2);
    for (const url of metrics) expect(await (await fetch(url)).text()).to.include('vouch_http_in_flight');

    for (const [name, event] of [
      ['shard s2', /event +s2 (has restarted|is back|joined)/],
      ['coordinator c1', /event +coordinator c1 serves again/],
      ['nats n3', /event +nats n3 serves again/],
    ] as const) {
      const from = cluster.lines.length;
      process.kill(processes[name]!, 'SIGKILL');
      await cluster.waitForLine(new RegExp(`event +${name} ended by SIGKILL; starts again in`), { from });
      await cluster.waitForLine(event, { from });
      await eventually('the new process is on record', () => runtime().processes[name] !== processes[name]);
    }
    const whole = /cluster +up: nats 3\/3, coordinators 2\/2 \(c[12] leads\), shards 3\/3; 0 collections/;
    await cluster.waitForLine(whole, { from: cluster.lines.length });

    const pids = Object.values(runtime().processes);
    expect(await stopped(cluster)).to.deep.equal({ code: 0, signal: null });
    expect(pids.filter(isAlive)).to.deep.equal([]);

    const others = run(['--nats', '1', '--port', '0']);
    expect((await others.waitForEnd()).code).to.equal(1);
    expect(others.output).to.match(/holds the data of 3 NATS servers, not of 1; start as many/);
  });

  it('restarts no killed process if asked not to', async () => {
    const size = ['--nats', '1', '--coordinators', '1', '--shards', '2', '--port', '0'];
    const cluster = run([...size, '--no-restart', '--data-dir', join(folder, 'other')]);
    await cluster.waitForLine(SHOWN);
    const { processes } = JSON.parse(readFileSync(join(folder, 'other', 'runtime.json'), 'utf8'));
    process.kill(processes['shard s1'], 'SIGKILL');
    await cluster.waitForLine(/event +shard s1 ended by SIGKILL; is not started again/);
    await cluster.waitForLine(/event +s1 has lost its heartbeat/);
    await cluster.waitForLine(/cluster +up: nats 1\/1, coordinators 1\/1 .*, shards 1\/2/);
    expect(await stopped(cluster)).to.deep.equal({ code: 0, signal: null });
  });
});

function stopped(cluster: Launched): Promise<Ended> {
  cluster.signal('SIGINT');
  return cluster.waitForEnd();
}
