/** The settings by which the processes of a cluster keep little unused memory. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { nodePlan } from '../../../../../scripts/local/supervisor/clusterPlans.js';

const read = (path: string): string => readFileSync(path, 'utf8');
const part = { name: 's1', process: 'shard s1' };

describe('the memory settings of processes', () => {
  const { args, env } = nodePlan('shard', part, {});

  it('are defaults, which the environment overrides', () => {
    const set = { MALLOC_ARENA_MAX: '8', OTHER: 'x' };
    expect(nodePlan('shard', part, set).env).to.deep.equal({ ...env, ...set });
  });

  it('are equal in npm scripts, Dockerfile and systemd units', () => {
    const flag = args[0]!;
    const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    expect([flag.split('=')[0], settings.length]).to.deep.equal(['--max-semi-space-size', 3]);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const name of ['start', 'standalone'])
      expect(scripts[name]).to.equal(`exec env ${settings.join(' ')} node ${flag} scripts/setup.mjs ${name}`);
    for (const file of ['Dockerfile', ...['vouch', 'vouch-coordinator', 'vouch-shard@'].map(unit)])
      expect(read(file), file).to.include(settings.join(' ')).and.to.include(`NODE_OPTIONS=${flag}`);
  });
});

const unit = (name: string): string => `deploy/systemd/${name}.service`;
