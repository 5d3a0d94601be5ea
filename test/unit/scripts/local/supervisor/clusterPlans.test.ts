// Covers: shared/process/memoryLimit.ts
/** The settings that processes of a cluster on one machine start with: for little unused memory, and the limits of shards. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { loadConfig } from '../../../../../config/load.js';
import { natsPlan, nodePlan, shardSizes } from '../../../../../scripts/local/supervisor/clusterPlans.js';
import { systemMemoryBytes } from '../../../../../shared/process/memoryLimit.js';
import { runTool } from '../../../../support/launch/foreignTool.js';
import { skip } from '../../../../support/skip.js';

const read = (path: string): string => readFileSync(path, 'utf8');
const unit = (name: string): string => `deploy/systemd/${name}.service`;
const COMMANDS = [
  ...['Dockerfile', 'docker-compose.yml', 'deploy/standalone.yml'],
  ...['coordinators', 'shards'].map((name) => `deploy/helm/vouch/templates/${name}.yaml`),
  ...['vouch', 'vouch-coordinator', 'vouch-shard@'].map(unit),
];
const part = { name: 's1', process: 'shard s1' };

describe('the memory settings of processes', () => {
  const { args, env } = nodePlan('shard', part, {});

  it('are defaults, which the environment overrides', () => {
    const set = { MALLOC_ARENA_MAX: '8', OTHER: 'x' };
    expect(nodePlan('shard', part, set).env).to.deep.equal({ ...env, ...set });
  });

  it('are equal in npm scripts, Dockerfile, systemd units and files of containers', () => {
    const [flag, gcFlag] = args;
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    expect([flag?.split('=')[0], gcFlag, settings.length]).to.deep.equal([
      '--max-semi-space-size',
      '--single-threaded-gc',
      3,
    ]);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const name of ['start', 'standalone'])
      expect(scripts[name]).to.equal(`exec env ${settings.join(' ')} node ${flag} ${gcFlag} scripts/setup.mjs ${name}`);
    for (const file of ['Dockerfile', ...['vouch', 'vouch-coordinator', 'vouch-shard@'].map(unit)])
      expect(read(file), file).to.include(settings.join(' ')).and.to.include(`NODE_OPTIONS=${flag}`);
    // Each command that starts a process of the service.
    for (const file of COMMANDS) {
      const lines = read(file).match(/^.*dist\/(?:(?:coordinator|shard)\/main|scripts\/standalone)\.js.*/gm);
      expect(lines, file).to.satisfy((found: string[] | null) => found?.every((line) => line.includes(gcFlag!)));
    }
  });
});

describe('the limits that npm start gives its shards', () => {
  it('divide the memory among the shards, and pass on the limit of the NATS store', () => {
    expect(shardSizes(loadConfig({}), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: String(Math.floor(systemMemoryBytes() / 4)),
      VOUCH_STORE_BYTES: '9000000000',
    });
  });

  it('are the configured ones if set', () => {
    const limits = { memoryBytes: 5_000_000_000, storeBytes: 7_000_000_000 };
    expect(shardSizes(loadConfig({}, { limits }), 4, 9_000_000_000)).to.deep.equal({
      VOUCH_MEMORY_BYTES: '5000000000',
      VOUCH_STORE_BYTES: '7000000000',
    });
  });
});

describe('the plan of a NATS server', () => {
  const outputOf = async (script: string, ...args: string[]): Promise<string> => {
    const plan = natsPlan('n1', { program: process.execPath, args: ['-e', script, '--', ...args] });
    return (await runTool(plan.program, plan.args)).output;
  };

  it('runs the program with its arguments as they are', async () => {
    const args = ['a b', "it's", '$HOME', '"*"', ''];
    expect(await outputOf('console.log(JSON.stringify(process.argv.slice(1)))', ...args)).to.equal(
      `${JSON.stringify(args)}\n`,
    );
  });

  it('gives the program the timer slack of the systemd unit', async function () {
    if (process.platform !== 'linux') skip(this, 'only Linux has a timer slack');
    expect(read(unit('vouch-nats'))).to.include('TimerSlackNSec=1ms\n');
    expect(await outputOf('console.log(fs.readFileSync("/proc/self/timerslack_ns", "utf8").trim())')).to.equal(
      '1000000\n',
    );
  });
});
